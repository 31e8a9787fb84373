// Two processes deliver with the token of one credential: they share the limit of the service.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, suite, test } from 'node:test'
import type { GantryProcess } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startGithub } from '#test/support/services/github.ts'
import type { Arrived } from '#test/support/services/service.ts'
import { until } from '#test/support/until.ts'
import { ENDS, IN_PROGRESS, moveWave, QUEUED, startPending } from './moving-actions.ts'

/** Their ends fit into one window; their other statuses do not. */
const ACTIONS = 40
const LIMIT = 50
/** Long enough that the pause is seen, which ends up to two seconds after it. */
const WINDOW_MS = 4_000
const MAX_MS = 30_000
/** What a process may have in flight for a budget. */
const IN_FLIGHT = 16

const all = { after }
const github = await startGithub(all)
const world = await openRunWorld(all, { roles: ['api'], environment: { LOG_LEVEL: 'debug' } })
const { db, ask } = world

const shaOf = (index: number) => createHash('sha1').update(String(index)).digest('hex')
const shas = Array.from({ length: ACTIONS }, (_, index) => shaOf(index))
const isSent = ({ method }: Arrived) => method === 'POST'

let processes: GantryProcess[]
/** From when on both knew of the pause and had nothing in flight; until when the service would refuse. */
let quietFrom: number
let resetAt: number
/** Deliveries that each process had sent when there was no limit yet. */
let sentBefore: number[]

suite(`two processes deliver to a service that allows ${LIMIT} requests in a window`, () => {
  before(async () => {
    const scope = await world.makeDeployable({ repository: 'https://github.com/acme/shop.git' })
    await makeHook(scope.pipelineId)
    const start = (commits: string[]) =>
      db.transaction().execute(async (trx) => {
        const started: number[] = []
        for (const commit of commits)
          started.push(...(await startPending(trx, scope, { count: 1, mark: commit, variables: { commit } })))
        return started
      })
    processes = await Promise.all([world.start('worker'), world.start('worker')])
    await until('both deliver', MAX_MS, async () => {
      await start([shaOf(ACTIONS)])
      return processes.every((one) => countSent(one) > 0)
    })
    await until('nothing is in flight', MAX_MS, async () => (await countPending()) === 0)
    sentBefore = processes.map(countSent)

    const first = github.requests.length
    github.limitTo(LIMIT, WINDOW_MS)
    const ids = await start(shas)
    await moveWave(db, scope, ids, 'pending', () => [QUEUED, IN_PROGRESS])
    await until('the limit is reached', MAX_MS, isPausedAndIdle)
    quietFrom = Date.now()
    resetAt = github.requests[first]!.at + WINDOW_MS
    await moveWave(db, scope, ids, 'in-progress', () => [ENDS.completed])
    await until('everything is delivered', MAX_MS, async () => (await countPending()) === 0)
    for (const one of processes) assert.equal(await one.stop(), 0)
  })

  test('until the reset nothing arrives from either', (t) => {
    const refused = github.requests.filter(({ limited }) => limited)
    t.diagnostic(
      `${resetAt - quietFrom} ms of silence, ${refused.length} refused, sent by each: ${sentByEach()}`,
    )
    assert.ok(quietFrom < resetAt - 1_000, 'the pause was seen')
    const early = github.requests.filter(({ at }) => at > quietFrom && at < resetAt)
    assert.deepEqual(early.length, 0)
    // Only what was in flight when the last request was allowed.
    assert.ok(refused.length <= processes.length * IN_FLIGHT, `${refused.length} were refused`)
  })

  test('after the reset everything arrives', () => {
    for (const sha of shas) assert.deepEqual(Object.values(github.shown(sha)), ['success'], sha)
  })

  test('the order of each action is kept', () => {
    for (const sha of shas) {
      const states = github.statuses.filter((status) => status.sha === sha).map(({ state }) => state)
      assert.equal(states.indexOf('success'), states.length - 1, states.join())
    }
  })

  test('a pause counts neither as an attempt nor as a failure', async () => {
    const deliveries = await db.selectFrom('deliveries').select(['state', 'attempts', 'is_final']).execute()
    for (const { state, attempts, is_final } of deliveries) {
      assert.ok(state === 'delivered' || (state === 'superseded' && !is_final), state)
      assert.ok(attempts <= 1, `${attempts} attempts`)
    }
    assert.deepEqual(await db.selectFrom('hook_health').selectAll().execute(), [])
    assert.ok(github.requests.filter(isSent).every(({ status }) => status === 201 || status === 403))
  })
})

async function makeHook(pipelineId: number): Promise<void> {
  const { id } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const token = {
    name: 'GitHub',
    provider_code: 'github',
    base_url: github.url,
    token: 'ghp_shared',
    ssh_hosts: ['github.com'],
  }
  const credential = await ask('POST', `/organizations/${id}/credentials`, token)
  assert.equal(credential.status, 201, JSON.stringify(credential.body))
  const settings = { preset: { kind: 'github_status' } }
  const hook = { name: 'Status', credential_id: credential.body.id, settings }
  const made = await ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, hook)
  assert.equal(made.status, 201, JSON.stringify(made.body))
}

async function isPausedAndIdle(): Promise<boolean> {
  const budget = await db.selectFrom('rate_budgets').select('paused_until').executeTakeFirst()
  if (!budget || Date.parse(budget.paused_until) <= Date.now()) return false
  const leased = await db
    .selectFrom('deliveries')
    .select('id')
    .where('leased_until', 'is not', null)
    .execute()
  return leased.length === 0
}

async function countPending(): Promise<number> {
  const pending = await db.selectFrom('deliveries').select('id').where('state', '=', 'pending').execute()
  return pending.length
}

function sentByEach(): number[] {
  return processes.map((one, index) => countSent(one) - sentBefore[index]!)
}

function countSent({ log }: GantryProcess): number {
  return log.map((line) => JSON.parse(line)).filter(({ outcome }) => outcome === 'delivered').length
}
