// The worker is killed at every point of the requests that create, update and complete chat messages. Where a
// second message is possible: docs/decisions/0088.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { later } from '#test/support/later.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startDiscord } from '#test/support/services/discord.ts'
import { ANSWER_HELD } from '#test/support/services/failures.ts'
import type { Service } from '#test/support/services/service.ts'
import { startSlack } from '#test/support/services/slack.ts'
import { until, untilLockWait } from '#test/support/until.ts'
import { ENDS, IN_PROGRESS, moveWave, QUEUED, startPending } from './moving-actions.ts'

const MAX_MS = 30_000
const STARTED = [QUEUED, IN_PROGRESS]

const all = { after }
const slack = await startSlack(all)
const discord = await startDiscord(all)
const services = [slack, discord]
const world = await openRunWorld(all, { roles: ['api'] })
const { db, ask } = world
const scope = await world.makeDeployable({ repository: 'https://github.com/acme/shop.git' })
const hooks = {
  slack: await makeHook('slack', slack.url, { kind: 'slack_message', channel: '#deploys' }),
  discord: await makeHook('discord', discord.url, { kind: 'discord_message', channel: '4711' }),
}
let worker = await world.start('worker')

/** Runs by the request at which the worker is killed; `ended` ones go on to their end while no worker runs. */
type Runs = Record<'create' | 'update' | 'final' | 'createEnded' | 'updateEnded', number>
const RUNS = ['create', 'update', 'final', 'createEnded', 'updateEnded'] as const

/** Every run is at its point when `reach` resolves; `release` ends what kept it there. */
type Point = { reach(): Promise<void>; release?(): Promise<void> }

const POINTS: Record<string, { arrange(): Promise<Point>; posted: number }> = {
  'before the request is sent': {
    posted: 1,
    async arrange() {
      // Read after the claim, for each request of such a hook.
      const lock = await lockTable('captured_values', 'access exclusive')
      const counts = services.map(({ requests }) => requests.length)
      return {
        async reach() {
          await untilLeased()
          await untilLockWait(db)
          assert.deepEqual(
            services.map(({ requests }) => requests.length),
            counts,
          )
        },
        release: lock.release,
      }
    },
  },
  'after the receiver handled the request, before it answers': {
    posted: 2,
    async arrange() {
      const arrived = expectRequests()
      for (const service of services) service.fail(...RUNS.map(() => ANSWER_HELD))
      return {
        async reach() {
          const requests = await arrived()
          assert.ok(requests.every(({ status }) => status === null))
          await untilLeased()
        },
      }
    },
  },
  'after the answer, before it is stored': {
    posted: 2,
    async arrange() {
      // Written in the statement that stores attempts.
      const lock = await lockTable('credential_uses', 'share')
      const arrived = expectRequests()
      return {
        async reach() {
          const requests = await arrived()
          assert.ok(requests.every(({ status }) => status === 200))
          await untilLockWait(db)
          await untilLeased()
        },
        release: lock.release,
      }
    },
  },
  'after the answer is stored': {
    posted: 1,
    async arrange() {
      const arrived = expectRequests()
      return {
        async reach() {
          await arrived()
          await untilDelivered()
        },
      }
    },
  },
}

for (const [point, { arrange, posted }] of Object.entries(POINTS)) {
  suite(`the worker is killed ${point}`, () => {
    let runs: Runs

    before(async () => {
      runs = await startRuns()
      const { reach, release } = await arrange()
      await takeNextStep(runs)
      await reach()
      worker.child.kill('SIGKILL')
      await worker.kill()
      // The database would still execute what a dead process waits for.
      await endLockWaits()
      await release?.()
      await move([runs.createEnded], STARTED)
      await move([runs.createEnded, runs.updateEnded], [ENDS.completed])
      await expireLeases()
      worker = await world.start('worker')
      await untilDelivered()
      await move([runs.create], STARTED)
      await untilDelivered()
      await move([runs.create, runs.update], [ENDS.completed])
      await untilDelivered()
    })

    test('each run has one message at Discord, in its final state', () => {
      for (const run of RUNS) assert.deepEqual(shownAt(discord.messages, runs[run]), ['✅'], run)
    })

    test('each run whose message existed has one at Slack, in its final state', () => {
      for (const run of ['update', 'final', 'updateEnded'] as const)
        assert.deepEqual(shownAt(slack.messages, runs[run]), ['✅'], run)
    })

    const title =
      posted === 1
        ? 'each run whose message was being created has one at Slack, in its final state'
        : 'each run whose message was being created has two at Slack: the lost one and one in its final state'
    test(title, () => {
      const shown = posted === 1 ? ['✅'] : ['🕒', '✅']
      for (const run of ['create', 'createEnded'] as const)
        assert.deepEqual(shownAt(slack.messages, runs[run]), shown, run)
    })

    test('what is stored about each run names its final message', async () => {
      const rows = await db.selectFrom('captured_values').selectAll().execute()
      for (const id of Object.values(runs)) {
        const known = (hook: string) => rows.find((row) => row.action_id === id && row.hook_id === hook)
        assert.equal(known(hooks.slack)?.values.ts, messagesOf(slack.messages, id).at(-1)!.ts)
        assert.equal(known(hooks.discord)?.values.message_id, messagesOf(discord.messages, id).at(-1)!.id)
      }
    })
  })
}

async function makeHook(provider_code: string, base_url: string, preset: object): Promise<string> {
  const { id: organizationId } = await db.selectFrom('organizations').select('id').executeTakeFirstOrThrow()
  const credential = await create(`/organizations/${organizationId}/credentials`, {
    name: provider_code,
    provider_code,
    base_url,
    token: `token-of-${provider_code}`,
  })
  const settings = { preset }
  const hook = { name: provider_code, credential_id: credential.id, settings }
  return (await create(`/pipelines/${scope.pipelineId}/hooks/outgoing`, hook)).id
}

async function create(path: string, input: object) {
  const { status, body } = await ask('POST', path, input)
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** Each is right before the request that its name says. */
async function startRuns(): Promise<Runs> {
  const [update, updateEnded, final] = await start(3)
  await untilDelivered()
  await move([final!], STARTED)
  await untilDelivered()
  return { create: 0, createEnded: 0, update: update!, updateEnded: updateEnded!, final: final! }
}

async function takeNextStep(runs: Runs): Promise<void> {
  const [one, other] = await start(2)
  Object.assign(runs, { create: one, createEnded: other })
  await move([runs.update, runs.updateEnded], STARTED)
  await move([runs.final], [ENDS.completed])
}

function start(count: number): Promise<number[]> {
  return db.transaction().execute((trx) => startPending(trx, scope, { count, mark: 'a run' }))
}

async function move(ids: number[], states: typeof STARTED): Promise<void> {
  const from = states === STARTED ? 'pending' : 'in-progress'
  await moveWave(db, scope, ids, from, () => states)
}

/** Resolves with the next request of each run, at each service. */
function expectRequests() {
  const counts = services.map(({ requests }) => requests.length)
  const next = ({ requests }: Service, index: number) => requests.slice(counts[index])
  return async () => {
    await until('all requests have arrived', MAX_MS, () =>
      services.every((service, index) => next(service, index).length >= RUNS.length),
    )
    const arrived = services.flatMap(next)
    assert.equal(arrived.length, RUNS.length * services.length)
    return arrived
  }
}

/** All of them are under way, as far as the database knows. */
async function untilLeased(): Promise<void> {
  const { rows } = await until('all are claimed', MAX_MS, async () => {
    const found = await sql<{ is_leased: boolean }>`
      select leased_until is not null as is_leased from deliveries where state = 'pending'`.execute(db)
    return found.rows.every(({ is_leased }) => is_leased) && found
  })
  assert.equal(rows.length, RUNS.length * services.length)
}

async function untilDelivered(): Promise<void> {
  await until('everything is delivered', MAX_MS, async () => {
    const { rows } = await sql`select from deliveries where state = 'pending' limit 1`.execute(db)
    return rows.length === 0
  })
  const { rows } =
    await sql`select state from deliveries where state not in ('delivered', 'superseded')`.execute(db)
  assert.deepEqual(rows, [])
}

/** As if the time of a lease had passed. */
async function expireLeases(): Promise<void> {
  await sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`.execute(
    db,
  )
}

async function lockTable(table: string, mode: string) {
  const client = new pg.Client(world.settings)
  await client.connect()
  later(all, () => client.end())
  await client.query(`begin; lock table ${table} in ${mode} mode`)
  return {
    async release() {
      await client.query('rollback')
    },
  }
}

async function endLockWaits(): Promise<void> {
  await until('nothing waits for a lock', MAX_MS, async () => {
    const { rows } = await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    return rows.length === 0
  })
}

/** The link to the run is in every message. */
function messagesOf<Message extends object>(messages: Message[], actionId: number): Message[] {
  const link = new RegExp(`/actions/${actionId}\\b`)
  return messages.filter((message) => link.test(JSON.stringify(message)))
}

/** The symbol at the beginning of each message of a run, in the order of their creation. */
function shownAt(messages: object[], actionId: number): string[] {
  return messagesOf(messages, actionId).map((message) => /🕒|⏳|✅|❌/u.exec(JSON.stringify(message))![0])
}
