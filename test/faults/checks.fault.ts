// Runs that wait for checks, with Gantry's own process killed by -9 while it finds their commits, while the host limits requests,
// and between a green answer and what follows from it: the green ones start, each once, the red ones end, and the host is never
// asked more often.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { startRepository } from '#test/support/checks.ts'
import { freePort } from '#test/support/ports.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import type { GithubCheckRun } from '#test/support/services/github-checks.ts'
import { stateOf } from '#test/support/services/github-checks.ts'
import { until, untilLockWait } from '#test/support/until.ts'

const MIN_SECONDS = 2
const LIMITED_MS = 3_000
const COMMITS = 4
const RUNS_EACH = 3

let arrived = Promise.withResolvers<void>()
let gitMayAnswer: Promise<void> = Promise.resolve()
const { host, repository, url } = await startRepository({ after }, 'github', () => {
  arrived.resolve()
  return gitMayAnswer
})
const world = await openRunWorld(
  { after },
  {
    roles: ['all'],
    environment: {
      // A restarted process is where the one before it was.
      PORT: String(await freePort()),
      GANTRY_CHECKS_SECONDS: String(MIN_SECONDS),
      GANTRY_POLL_MS: '100',
    },
  },
)
const { db, ask } = world

/** One is killed, and what it had claimed is not waited for. `meanwhile` no process is there. */
async function restart(meanwhile: () => Promise<unknown> | unknown = () => {}): Promise<void> {
  await world.processes[0]!.kill()
  await meanwhile()
  await sql`update commit_checks set leased_until = null where leased_until is not null`.execute(db)
  await sql`update check_requests set due_at = clock_timestamp() where due_at is not null`.execute(db)
  world.processes[0] = await world.start('all')
}

/** As soon as the shortest interval allows, however long nothing has changed. */
const askSoon = () =>
  sql`update commit_checks set due_at = clock_timestamp() where due_at is not null`.execute(db)

async function openPipeline(): Promise<number> {
  const token = { name: 'Host', provider_code: 'github', base_url: url, token: 'token-of-the-host' }
  const credential = await ask('POST', `/organizations/${world.organizationId}/credentials`, token)
  assert.equal(credential.status, 201, JSON.stringify(credential.body))
  const { pipelineId } = await world.makeDeployable({
    repository: `${url}/acme/shop.git`,
    application: { credential_id: credential.body.id },
    steps: [{ name: 'once', command: `echo "$GANTRY_ACTION_ID" >> '${join(world.notes, 'started')}'` }],
    pipeline: { max_parallel_actions: 0 },
  })
  const terms = { settle_seconds: 0, names: ['build *'] }
  const { status, body } = await ask('PUT', `/pipelines/${pipelineId}`, { wait_for_checks: terms })
  assert.equal(status, 200, JSON.stringify(body))
  return pipelineId
}

type Commit = { sha: string; name: string; build: GithubCheckRun; isGreen: boolean; ids: number[] }

async function makeCommit(index: number): Promise<Commit> {
  const sha = await repository.commit({ n: String(index) })
  const ofCommit = host.checks.addSuite({ repository: 'acme/shop', sha, ...stateOf('in_progress') })
  const name = `build ${index}`
  const build = host.checks.addRun(ofCommit, name, 'in_progress', `https://ci.example.com/${index}`)
  return { sha, name, build, isGreen: index % 2 === 0, ids: [] }
}

function end({ build, isGreen }: Commit): void {
  const state = stateOf(isGreen ? 'success' : 'failure')
  Object.assign(build, state)
  Object.assign(build.suite, state)
}

const askings = (sha: string) =>
  host.requests.filter(({ call, path }) => call === 'list check suites' && path.includes(sha))

/** No process decides about these runs until the lock is gone. */
async function lockRuns(ids: readonly number[]): Promise<() => Promise<void>> {
  const client = new pg.Client(world.settings)
  await client.connect()
  await client.query('begin')
  await client.query('select from actions where id = any($1::bigint[]) for update', [ids])
  return () => client.end()
}

suite('runs that wait for checks, and Gantry killed by -9', () => {
  const commits: Commit[] = []
  let createdAt = 0

  test('before a commit is found: all of them are found, and asked about', async () => {
    const pipelineId = await openPipeline()
    for (let index = 0; index < COMMITS; index++) commits.push(await makeCommit(index))
    const opened = Promise.withResolvers<void>()
    gitMayAnswer = opened.promise
    arrived = Promise.withResolvers()
    createdAt = Date.now()
    for (const { sha, ids } of commits)
      for (let count = 0; count < RUNS_EACH; count++)
        ids.push(await world.run(pipelineId, { source_type: 'commit', source_ref: sha }))
    await arrived.promise
    await restart(() => {
      gitMayAnswer = Promise.resolve()
      opened.resolve()
    })
    await until('every run waits for the checks of its commit', 40_000, async () => {
      const { rows } = await sql`
        select from actions a join check_requests r on r.action_id = a.id
        join commit_checks c on c.id = r.commit_checks_id
        where a.status_reason_code = 'WAITING_CHECKS' and c.answered_at is not null`.execute(db)
      return rows.length === COMMITS * RUNS_EACH
    })
  })

  test('while the host limits requests: it is not asked until that is over', async () => {
    const before = host.requests.length
    host.limitTo(1, LIMITED_MS)
    await until('the limit is known', 20_000, async () => {
      const budget = await db.selectFrom('rate_budgets').select('paused_until').executeTakeFirst()
      return budget !== undefined && Date.parse(budget.paused_until) > Date.now()
    })
    const limitedUntil = host.requests[before]!.at + LIMITED_MS
    await restart()
    await until('the limit is over', 20_000, async () => {
      // Only the pause holds it back now.
      await askSoon()
      return Date.now() > limitedUntil
    })
    host.unlimited()
    const during = host.requests.slice(before + 1).filter(({ at }) => at < limitedUntil)
    assert.deepEqual(
      during.map(({ path }) => path),
      [],
    )
  })

  test('right after a green answer: nothing is decided twice, and nothing is forgotten', async () => {
    const now = commits.slice(0, COMMITS - 2)
    const unlock = await lockRuns(now[0]!.ids)
    now.forEach(end)
    await until('the host has said that it is green', 20_000, async () => {
      // What the limit has put off waits ten more seconds, for deliveries.
      await askSoon()
      const { rows } = await sql`
        select from commit_checks where commit = ${now[0]!.sha} and checks @> '[{"reported": "success"}]'`.execute(
        db,
      )
      return rows.length > 0
    })
    await untilLockWait(db)
    await restart(unlock)
    commits.slice(-2).forEach(end)
    await askSoon()
    for (const { ids, isGreen, name, build } of commits)
      for (const id of ids) {
        await world.endedWith(isGreen ? 'COMPLETED' : 'FAILED_CHECKS', id)
        if (isGreen) continue
        const { body } = await ask('GET', `/actions/${id}/gates`)
        const { details } = body.gates.find(({ gate }: { gate: string }) => gate === 'checks')
        assert.equal(details.message, `${name} reported failure.`)
        assert.equal(details.waiting_for.link, build.html_url)
      }
  })

  test('the green ones have started, each once, and no other', async () => {
    const lines = (await readFile(join(world.notes, 'started'), 'utf8')).trim().split('\n')
    const green = commits.flatMap(({ ids, isGreen }) => (isGreen ? ids : []))
    assert.deepEqual(lines.map(Number).sort(), green.sort())
  })

  test('the host was asked about each commit at most once in the shortest interval', (t) => {
    const counts = commits.map(({ sha }) => {
      const times = askings(sha).map(({ at }) => at)
      const most = Math.floor((times.at(-1)! - createdAt) / (MIN_SECONDS * 1_000)) + 1
      assert.ok(times.length <= most, `${times.length} times, at most ${most}`)
      // One may have been slower on its way than the next.
      for (const [index, at] of times.entries())
        assert.ok(index === 0 || at - times[index - 1]! > MIN_SECONDS * 500, times.join(' '))
      return times.length
    })
    t.diagnostic(`asked ${counts.join(', ')} times`)
  })

  test('nothing is left waiting, and no slot stays taken', async () => {
    const { rows } = await sql<Record<string, number>>`select
      (select count(*) from actions where has_place or gate is not null) as actions,
      (select count(*) from check_requests where due_at is not null or expires_at is not null) as requests,
      (select count(*) from commit_checks where due_at is not null or leased_until is not null) as commits`.execute(
      db,
    )
    assert.deepEqual(rows[0], { actions: 0, requests: 0, commits: 0 })
  })
})
