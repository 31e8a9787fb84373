// What the server does for the dashboard: the overview, at once and with many actions, and the files of the pages.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUIDv7 } from 'node:crypto'
import { copyFile, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, type TestContext, test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import Fastify from 'fastify'
import { sql } from 'kysely'
import { readBuiltPages } from '#dashboard/built-pages.ts'
import { findFailures, findRunning } from '#dashboard/find-runs.ts'
import { pageRoutes } from '#dashboard/page-routes.ts'
import { countEndedRuns, readRunDays } from '#dashboard/run-days.ts'
import { countAlive, startBeating } from '#dashboard/workers.ts'
import type { Database } from '#database/connect.ts'
import { openTestApp } from './harness.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type TestTree,
} from './world.ts'

const { db, request, statements } = await openTestApp({ after })

const overviewOf = async ({ token }: { token: string }, query = '') => {
  const answer = await request('GET', `/overview${query}`, { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}
const idsOf = (runs: { id: number }[]) => runs.map(({ id }) => id)
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()

const RUNNING = { status: 'in-progress', status_reason_code: 'IN_PROGRESS', completed_at: null } as const
const failedAt = (completed_at: string) =>
  ({ status: 'failed', status_reason_code: 'FAILED', started_at: completed_at, completed_at }) as const
/** Actions without targets: nothing here looks at them. */
const create = (tree: TestTree, more: Parameters<typeof createAction>[2] = {}) =>
  createAction(db, { ...tree, serverIds: [] }, more)

suite('the overview', () => {
  test('of somebody who sees nothing is empty, and complete', async () => {
    const overview = await overviewOf(await createPerson(db))
    assert.deepEqual(Object.keys(overview), [
      'running',
      'failures',
      'runs_per_day',
      'median_duration_seconds_per_day',
      'deliveries',
      'workers',
      'queue',
    ])
    assert.deepEqual(overview.running, [])
    assert.deepEqual(overview.deliveries, { failing: [], pending: 0, failed_last_day: 0 })
    assert.equal(overview.runs_per_day.length, 30)
    assert.equal(overview.median_duration_seconds_per_day.length, 30)
    const jobs = overview.queue.depths.map(({ job }: { job: string }) => job)
    assert.ok(jobs.includes('targets.run'))
  })

  test('shows what runs, newest first, with all that a line about it needs', async () => {
    const tree = await createTestTree(db)
    const deploy = await create(tree, { ...RUNNING, trigger_name: 'Ada' })
    const restart = await create(tree, { ...RUNNING, pipeline_id: tree.serverPipelineId, type: 'restart' })
    await create(tree)
    const { running } = await overviewOf(tree.owner)
    assert.deepEqual(idsOf(running), [restart, deploy])
    const [onServer, onApplication] = running
    assert.equal(onServer.resource_name, 'web-1')
    assert.equal(onApplication.resource_name, 'Shop')
    assert.equal(onApplication.resource_type, 'application')
    assert.equal(onApplication.resource_id, tree.applicationId)
    assert.equal(onApplication.environment.id, tree.environmentId)
    assert.equal(onApplication.project.id, tree.projectId)
    assert.equal(onApplication.organization.id, tree.organizationId)
    assert.equal(onApplication.pipeline.name, 'Deploy')
    assert.equal(onApplication.status_human_readable, 'In progress')
    assert.equal(onApplication.trigger_name, 'Ada')
    assert.match(onApplication.url_web_permalink, new RegExp(`/app/actions/${deploy}$`))
    assert.ok(onApplication.started_at)
  })

  test('shows the failures of a day, the latest first, whenever their runs began', async () => {
    const tree = await createTestTree(db)
    const latest = await create(tree, { ...failedAt(ago(1)), created_at: ago(3 * 24 * 60) })
    const earlier = await create(tree, failedAt(ago(23 * 60)))
    await create(tree, failedAt(ago(25 * 60)))
    await create(tree)
    assert.deepEqual(idsOf((await overviewOf(tree.owner)).failures), [latest, earlier])
  })

  test('shows twenty failures and no more, of all environments together', async () => {
    const tree = await createTestTree(db)
    const second = {
      ...tree,
      ...(await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)),
    }
    const ids: number[] = []
    for (let minutes = 25; minutes > 0; minutes--)
      ids.unshift(await create(minutes % 2 === 0 ? tree : second, failedAt(ago(minutes))))
    assert.deepEqual(idsOf((await overviewOf(tree.owner)).failures), ids.slice(0, 20))
  })

  test('counts runs on the day on which they ended, and says how long they took', async () => {
    const tree = await createTestTree(db)
    // Two days ago: what other tests let end is later than what is added up here.
    const date = new Date(Date.now() - 2 * 24 * 60 * 60_000).toISOString().slice(0, 10)
    const took = (seconds: number) => ({
      started_at: `${date}T12:00:00Z`,
      completed_at: new Date(Date.parse(`${date}T12:00:00Z`) + seconds * 1_000).toISOString(),
    })
    for (const seconds of [10, 60, 600]) await create(tree, took(seconds))
    await create(tree, failedAt(`${date}T23:59:59.999Z`))
    await create(tree, {
      status: 'skipped',
      status_reason_code: 'SKIPPED',
      started_at: null,
      completed_at: `${date}T00:00:00Z`,
    })
    const check = async () => {
      const overview = await overviewOf(tree.owner)
      const ofDay = (one: { date: string }) => one.date === date
      const day = overview.runs_per_day.find(ofDay)
      assert.deepEqual(day, { date, completed: 3, failed: 1, skipped: 1 })
      const median = overview.median_duration_seconds_per_day.find(ofDay)
      assert.ok(Math.abs(median.seconds - 60) < 1, String(median.seconds))
    }
    await check()
    await countEndedRuns(db, { settledMinutes: 24 * 60 })
    await check()
  })

  test('shows what the caller may see and nothing else', async () => {
    const [mine, other] = [await createTestTree(db), await createTestTree(db)]
    for (const tree of [mine, other]) {
      await create(tree, RUNNING)
      await create(tree, failedAt(ago(1)))
      await createHook(db, tree, 'outgoing', { disabled_at: ago(1), disabled_reason: 'gone', active: false })
    }
    for (const person of [mine.owner, await createMember(db, mine, 'viewer')]) {
      const { running, failures, runs_per_day, deliveries } = await overviewOf(person)
      assert.equal(running.length, 1)
      assert.equal(running[0].environment.id, mine.environmentId)
      assert.equal(failures.length, 1)
      assert.equal(failures[0].environment.id, mine.environmentId)
      const counted = runs_per_day.reduce((sum: number, day: { failed: number }) => sum + day.failed, 0)
      assert.equal(counted, 1)
      assert.equal(deliveries.failing.length, 1)
      assert.equal(deliveries.failing[0].environment_id, mine.environmentId)
    }
  })

  test('shows hooks only to those who may view hooks', async () => {
    const tree = await createTestTree(db)
    await create(tree, RUNNING)
    await createHook(db, tree, 'outgoing', { disabled_at: ago(1), disabled_reason: 'gone', active: false })
    const person = await createPerson(db)
    const role = await db
      .insertInto('roles')
      .values({ organization_id: tree.organizationId, name: 'Watcher', permissions: ['action:view'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: role.id, organization_id: tree.organizationId })
      .execute()
    const { running, deliveries } = await overviewOf(person)
    assert.equal(running.length, 1)
    assert.deepEqual(deliveries.failing, [])
  })

  test('can be narrowed to an organization, a project or an environment', async () => {
    const tree = await createTestTree(db)
    const second = {
      ...tree,
      ...(await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)),
    }
    const third = await createTestTree(db)
    await grantRole(db, tree.owner.id, 'viewer', { organizationId: third.organizationId })
    const [one, two, three] = [
      await create(tree, RUNNING),
      await create(second, RUNNING),
      await create(third, RUNNING),
    ]
    const running = async (query: string) => idsOf((await overviewOf(tree.owner, query)).running)
    assert.deepEqual(await running(''), [three, two, one])
    assert.deepEqual(await running(`?filter[organization_id]=${tree.organizationId}`), [two, one])
    assert.deepEqual(await running(`?filter[project_id]=${third.projectId}`), [three])
    assert.deepEqual(await running(`?filter[environment_id]=${tree.environmentId},${third.environmentId}`), [
      three,
      one,
    ])
    const stranger = await createTestTree(db)
    assert.deepEqual(await running(`?filter[environment_id]=${stranger.environmentId}`), [])
  })

  test('refuses what it does not know', async () => {
    const { token } = await createPerson(db)
    const wrong = await request('GET', '/overview?filter[project_id]=x&filter[environment_id]=0', { token })
    assert.equal(wrong.status, 422)
    assert.deepEqual(Object.keys(wrong.body.errors), ['filter[project_id]', 'filter[environment_id]'])
    assert.equal((await request('GET', '/overview?filter[status]=failed', { token })).status, 422)
    assert.equal((await request('GET', '/overview')).status, 401)
  })

  test('tells of receivers that fail, of what waits, and of what was given up', async () => {
    const tree = await createTestTree(db)
    const sick = await createHook(db, tree, 'outgoing', { name: 'Sick' })
    await createHook(db, tree, 'outgoing', { name: 'Well' })
    const off = await createHook(db, tree, 'outgoing', {
      name: 'Off',
      active: false,
      disabled_at: ago(5),
      disabled_reason: 'It answered 410 twice.',
    })
    const since = ago(60)
    await db
      .insertInto('hook_health')
      .values({ hook_id: sick, failures_in_a_row: 7, failing_since: since, open_until: ago(-1) })
      .execute()
    const action_id = await create(tree)
    const deliver = (event_id: number, state: 'pending' | 'failed' | 'delivered', last_request_id?: string) =>
      db
        .insertInto('deliveries')
        .values({ hook_id: sick, event_id, action_id, is_final: true, state, last_request_id })
        .execute()
    await deliver(1, 'pending')
    await deliver(2, 'pending')
    await deliver(3, 'failed', randomUUIDv7())
    await deliver(4, 'failed', idOfTime(Date.now() - 23 * 3_600_000))
    await deliver(5, 'failed', idOfTime(Date.now() - 25 * 3_600_000))
    await deliver(6, 'delivered', randomUUIDv7())
    const { deliveries } = await overviewOf(tree.owner)
    assert.equal(deliveries.pending, 2)
    assert.equal(deliveries.failed_last_day, 2)
    assert.deepEqual(
      deliveries.failing.map((hook: { hook_id: string }) => hook.hook_id),
      [sick, off],
    )
    const [first, second] = deliveries.failing
    assert.equal(first.failures_in_a_row, 7)
    assert.equal(first.failing_since, since)
    assert.equal(first.disabled_at, null)
    assert.equal(second.disabled_reason, 'It answered 410 twice.')
    assert.equal(second.failures_in_a_row, 0)
  })

  /** A UUIDv7 as it was made then. */
  function idOfTime(milliseconds: number): string {
    const hex = milliseconds.toString(16).padStart(12, '0')
    return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`
  }
})

suite('workers', () => {
  const failing = (error: Error) => assert.fail(error)

  test('count for as long as they beat, and no longer than their silence is short', async () => {
    const before = await countAlive(db)
    const one = await startBeating(db, { onError: failing })
    const other = await startBeating(db, { onError: failing })
    assert.equal(await countAlive(db), before + 2)
    assert.equal((await overviewOf(await createPerson(db))).workers.alive, before + 2)
    await one.stop()
    assert.equal(await countAlive(db), before + 1)
    await sql`update workers set seen_at = now() - interval '31 seconds'`.execute(db)
    assert.equal(await countAlive(db), 0)
    await other.stop()
  })

  test('are back with their next beat', async () => {
    const worker = await startBeating(db, { onError: failing, beatMs: 5 })
    await sql`delete from workers`.execute(db)
    const deadline = Date.now() + 20_000
    while ((await countAlive(db)) === 0) assert.ok(Date.now() < deadline, 'no beat came')
    await worker.stop()
    assert.equal(await countAlive(db), 0)
  })
})

suite('with fifty thousand actions', () => {
  const ACTIONS = 50_000
  let busy: TestTree
  let small: TestTree
  const expected: { ids: number[]; naive: Awaited<ReturnType<typeof naiveDays>> }[] = []

  before(async () => {
    busy = await createTestTree(db)
    small = await createTestTree(db)
    // Over forty days up to now; one in fifty belongs to the small tree.
    await sql`
      insert into actions (environment_id, pipeline_id, type, status, status_reason_code, trigger_type,
        started_at, completed_at, created_at)
      select case when is_small then ${small.environmentId}::bigint else ${busy.environmentId}::bigint end,
        case when is_small then ${small.pipelineId}::bigint else ${busy.pipelineId}::bigint end, 'deploy', status,
        case status when 'completed' then 'COMPLETED' when 'failed' then 'FAILED' else 'SKIPPED' end, 'manual',
        case when status <> 'skipped' then moment - (number % 97 + 1) * interval '1 second' end, moment, moment
      from generate_series(1, ${ACTIONS}::int) as number, lateral (
        select number % 50 = 0 as is_small,
          case when number % 13 = 0 then 'failed' when number % 17 = 0 then 'skipped' else 'completed' end as status,
          now() - (${ACTIONS}::int - number) * interval '40 days' / ${ACTIONS}::int as moment) as chosen`.execute(
      db,
    )
    await sql`analyze`.execute(db)
    const [one, other] = [busy.environmentId, small.environmentId]
    for (const ids of [[one], [other], [one, other]]) expected.push({ ids, naive: await naiveDays(ids) })
  })

  /** Straight from the actions, with an exact median. */
  async function naiveDays(environmentIds: number[]) {
    const { rows } = await sql<{
      date: string
      completed: number
      failed: number
      skipped: number
      median: number
    }>`
      select (completed_at at time zone 'UTC')::date::text as date,
        count(*) filter (where status = 'completed') as completed, count(*) filter (where status = 'failed') as failed,
        count(*) filter (where status = 'skipped') as skipped,
        percentile_disc(0.5) within group (order by extract(epoch from completed_at - started_at)::float8)
          filter (where status = 'completed') as median
      from actions where environment_id = any(${environmentIds}::bigint[]) and completed_at >= current_date - 29
      group by 1 order by 1`.execute(db)
    return rows
  }

  async function assertDaysAreExact(): Promise<void> {
    for (const { ids, naive } of expected) {
      const days = (await readRunDays(db, ids)).filter((day) => day.completed + day.failed + day.skipped > 0)
      assert.deepEqual(
        days.map(({ median_duration_seconds: _, ...day }) => day),
        naive.map(({ median: _, ...day }) => day),
      )
      for (const [index, { median }] of naive.entries())
        assert.ok(Math.abs(days[index]!.median_duration_seconds! / median - 1) < 0.016)
    }
  }

  test('the days are exact, whether nothing, a part or all of it has been added up', async () => {
    await sql`update counted_runs set until = current_date - 30`.execute(db)
    await sql`delete from run_days`.execute(db)
    await assertDaysAreExact()
    for (const settledMinutes of [15 * 24 * 60 + 7, 11, 11, 0]) {
      await countEndedRuns(db, { settledMinutes })
      await assertDaysAreExact()
    }
  })

  test('two who add up at once count nothing twice', async () => {
    await sql`update counted_runs set until = current_date - 30`.execute(db)
    await sql`delete from run_days`.execute(db)
    await Promise.all(Array.from({ length: 4 }, () => countEndedRuns(db, { settledMinutes: 0 })))
    await assertDaysAreExact()
  })

  test('what is older than anybody looks at is forgotten, with the change of the day', async () => {
    await sql`
      insert into run_days values (${small.environmentId}, current_date - 90, 'failed', 0, 1)`.execute(db)
    await sql`update counted_runs set until = now() - interval '2 days'`.execute(db)
    await sql`delete from run_days where day >= (now() - interval '2 days')::date`.execute(db)
    await countEndedRuns(db, { settledMinutes: 0 })
    const { rows } = await sql`select from run_days where day < current_date - 60`.execute(db)
    assert.equal(rows.length, 0)
  })

  test('the overview takes the same few statements, and reads few rows', async () => {
    await countEndedRuns(db)
    await overviewOf(busy.owner)
    statements.length = 0
    await overviewOf(busy.owner)
    assert.ok(statements.length <= 12, statements.join('\n'))
    const environmentIds = [busy.environmentId, small.environmentId]
    assert.ok((await rowsRead((trx) => findRunning(trx, environmentIds))) < 200)
    assert.ok((await rowsRead((trx) => findFailures(trx, environmentIds))) < 200)
    assert.ok((await rowsRead((trx) => readRunDays(trx, environmentIds))) < 200)
  })

  /** Rows of actions that some work reads, with the plan that is good for any values: the one it gets in the end. */
  function rowsRead(work: (trx: Database) => Promise<unknown>): Promise<number> {
    return db.transaction().execute(async (trx) => {
      await sql`set local plan_cache_mode = force_generic_plan`.execute(trx)
      const count = async () => {
        const { rows } = await sql<{ read: number }>`
          select seq_tup_read + coalesce(idx_tup_fetch, 0) as read from pg_stat_xact_user_tables
          where relname = 'actions'`.execute(trx)
        return rows[0]!.read
      }
      const before = await count()
      await work(trx)
      return (await count()) - before
    })
  }
})

/** A folder of its own, gone after the test. */
async function createFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gantry-pages-'))
  t.after(() => rm(folder, { recursive: true }))
  return folder
}

suite('the pages', () => {
  const SCRIPT = 'console.log("pages")\n'.repeat(100)

  async function open(t: TestContext, files: Record<string, string | Buffer>) {
    const folder = await createFolder(t)
    await mkdir(join(folder, 'assets'))
    const write = async (some: typeof files) => {
      for (const [path, content] of Object.entries(some)) await writeFile(join(folder, path), content)
    }
    await write(files)
    const app = Fastify()
    t.after(() => app.close())
    await app.register(pageRoutes, { folder: pathToFileURL(`${folder}/`) })
    const get = (url: string, headers: Record<string, string> = {}) => app.inject({ url, headers })
    return { app, get, write }
  }

  const BUILT = {
    'index.html': '<!doctype html><title>Gantry</title>',
    'icon.svg': '<svg xmlns="http://www.w3.org/2000/svg"/>',
    '.built': 'stamp',
    'assets/index-DH2EUxFj.js': SCRIPT,
    'assets/index-DH2EUxFj.js.br': brotliCompressSync(SCRIPT),
    'assets/index-DH2EUxFj.js.gz': gzipSync(SCRIPT),
  }

  test('every view is the one page, which is asked for again each time', async (t) => {
    const { get } = await open(t, BUILT)
    for (const url of ['/app', '/app/', '/app/actions', '/app/actions/12?tab=log', '/app/a.b/c', '/app/*']) {
      const answer = await get(url)
      assert.equal(answer.statusCode, 200, url)
      assert.equal(answer.body, BUILT['index.html'])
      assert.equal(answer.headers['content-type'], 'text/html; charset=utf-8')
      assert.equal(answer.headers['cache-control'], 'no-cache')
    }
  })

  test('nothing from elsewhere can run in it, or frame it', async (t) => {
    const { get } = await open(t, BUILT)
    assert.equal(
      (await get('/app')).headers['content-security-policy'],
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    )
  })

  test('files whose names change with them are kept for ever, others are not', async (t) => {
    const { get } = await open(t, BUILT)
    const script = await get('/app/assets/index-DH2EUxFj.js')
    assert.equal(script.body, SCRIPT)
    assert.equal(script.headers['content-type'], 'text/javascript; charset=utf-8')
    assert.equal(script.headers['cache-control'], 'public, max-age=31536000, immutable')
    assert.equal((await get('/app/icon.svg')).headers['cache-control'], 'no-cache')
  })

  test('are sent in the smallest form that is accepted, each with a tag of its own', async (t) => {
    const { get } = await open(t, BUILT)
    const ask = (accept: string) => get('/app/assets/index-DH2EUxFj.js', { 'accept-encoding': accept })
    const [brotli, gzip, plain] = [await ask('gzip, br'), await ask('gzip'), await ask('identity')]
    assert.equal(brotli.headers['content-encoding'], 'br')
    assert.equal(brotliDecompressSync(brotli.rawPayload).toString(), SCRIPT)
    assert.equal(gzip.headers['content-encoding'], 'gzip')
    assert.equal(gunzipSync(gzip.rawPayload).toString(), SCRIPT)
    assert.equal(plain.headers['content-encoding'], undefined)
    const tags = [brotli, gzip, plain].map(({ headers }) => String(headers.etag))
    assert.equal(new Set(tags).size, 3)
    for (const tag of tags) assert.match(tag, /^"[\w-]{27}"$/)
    assert.equal(plain.headers.vary, 'Accept-Encoding')
  })

  test('what the browser has already is not sent again', async (t) => {
    const { get } = await open(t, BUILT)
    const { etag } = (await get('/app')).headers
    const again = await get('/app', { 'if-none-match': String(etag) })
    assert.equal(again.statusCode, 304)
    assert.equal(again.body, '')
    assert.equal((await get('/app', { 'if-none-match': '"other"' })).statusCode, 200)
  })

  test('no address leads out of the folder, or to what is no page', async (t) => {
    const { get } = await open(t, BUILT)
    const addresses = [
      '/app/missing.js',
      '/app/.built',
      '/app/assets/index-DH2EUxFj.js.br',
      '/app/assets/../../package.json',
      '/app/..%2f..%2fpackage.json',
      '/app/%2e%2e/%2e%2e/etc/passwd.txt',
      '/app//etc/hosts.txt',
      '/app/constructor.js',
    ]
    for (const url of addresses) assert.equal((await get(url)).statusCode, 404, url)
  })

  test('HEAD says what GET would', async (t) => {
    const { app, get } = await open(t, BUILT)
    const head = await app.inject({ method: 'HEAD', url: '/app' })
    assert.equal(head.statusCode, 200)
    assert.equal(head.body, '')
    assert.equal(head.headers['content-length'], (await get('/app')).headers['content-length'])
  })

  test('before they are built, everybody is told what to do; after, they are there', async (t) => {
    const { get, write } = await open(t, {})
    const early = await get('/app/actions')
    assert.equal(early.statusCode, 503)
    assert.match(early.body, /npm start/)
    assert.equal(early.headers['cache-control'], 'no-store')
    assert.ok(early.headers['retry-after'])
    await write(BUILT)
    assert.equal((await get('/app/actions')).statusCode, 200)
  })
})

suite('building the pages', () => {
  const root = new URL('..', import.meta.url)

  /** A checkout with a page of its own, beside the installed packages. */
  async function createCheckout(t: TestContext): Promise<string> {
    const checkout = await createFolder(t)
    await mkdir(join(checkout, 'scripts'))
    await mkdir(join(checkout, 'web', 'src'), { recursive: true })
    await copyFile(new URL('scripts/build-web.mjs', root), join(checkout, 'scripts/build-web.mjs'))
    await symlink(fileURLToPath(new URL('node_modules', root)), join(checkout, 'node_modules'))
    await writeFile(join(checkout, 'package-lock.json'), '{}')
    await writeFile(join(checkout, 'web/vite.config.mjs'), "export default { base: '/app/' }")
    const page = '<!doctype html><title>Page</title><script type="module" src="/src/main.js"></script>'
    await writeFile(join(checkout, 'web/index.html'), page)
    await writeFile(join(checkout, 'web/src/main.js'), `document.title = '${'long '.repeat(500)}'`)
    return checkout
  }

  const build = async (checkout: string) => {
    const run = promisify(execFile)(process.execPath, ['scripts/build-web.mjs'], { cwd: checkout })
    const { stdout, stderr } = await run
    return { said: stdout, complained: stderr }
  }

  test('happens when the sources have changed, and only then', async (t) => {
    const checkout = await createCheckout(t)
    assert.match((await build(checkout)).said, /building/)
    const first = await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`))
    const script = [...first!.keys()].find((path) => path.endsWith('.js'))!
    assert.ok(first!.get(script)!.isHashed)
    assert.deepEqual(
      first!.get(script)!.forms.map(({ encoding }) => encoding),
      ['br', 'gzip', null],
    )
    assert.equal((await build(checkout)).said, '')

    await writeFile(join(checkout, 'web/src/main.js'), 'document.title = "other"')
    assert.match((await build(checkout)).said, /building/)
    const second = await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`))
    assert.ok(!second!.has(script), 'what is old is gone')
    assert.deepEqual((await readdir(join(checkout, 'web'))).sort(), [
      'dist',
      'index.html',
      'src',
      'vite.config.mjs',
    ])
  })

  test('that fails is told, keeps the pages that were there, and keeps nothing from starting', async (t) => {
    const checkout = await createCheckout(t)
    await build(checkout)
    await writeFile(join(checkout, 'web/src/main.js'), 'import "./missing.js"')
    assert.match((await build(checkout)).complained, /could not be built/)
    assert.ok(await readBuiltPages(pathToFileURL(`${checkout}/web/dist/`)))
  })

  test('is nothing where there are no pages', async (t) => {
    const checkout = await createCheckout(t)
    await rm(join(checkout, 'web'), { recursive: true })
    assert.deepEqual(await build(checkout), { said: '', complained: '' })
  })
})
