// Twelve faults, each caused for real, and what doctor says to them: docs/operations.md has the table.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, rename } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { later } from '#test/support/later.ts'
import { call } from '#test/support/process.ts'
import { makeRepository } from '#test/support/repository.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { startSshd } from '#test/support/sshd.ts'
import { installSwitchPoints } from '#test/support/switch-points.ts'
import { until } from '#test/support/until.ts'
import { openFaultyPostgres } from './faulty-postgres.ts'

type Check = { name: string; status: string; message: string; remedy: string | null }
type Checks = Record<string, Check>

const all = { after }
const METRICS_TOKEN = 'a-token-for-prometheus-and-nobody-else'
const postgres = await openFaultyPostgres(all)
const connection = { host: '127.0.0.1', port: postgres.port, user: 'gantry', database: 'gantry', ssl: false }
const world = await openRunWorld(all, {
  roles: ['api'],
  database: connection,
  environment: {
    GANTRY_DATABASE_CONNECTIONS: '2',
    GANTRY_METRICS_TOKEN: METRICS_TOKEN,
    GANTRY_ALLOW_TARGETS: '127.0.0.0/8',
    GANTRY_POLL_MS: '500',
  },
})
const api = world.processes[0]!
const { db, ask, run, completed, makeCustom } = world
const { token } = world.owner

async function diagnose(): Promise<Checks> {
  const { status, body } = await call(api, 'GET', '/diagnostics', { token })
  assert.equal(status, 200, JSON.stringify(body))
  return Object.fromEntries(body.checks.map((check: Check) => [check.name, check]))
}

const readiness = async (as?: string) => {
  const { status, body } = await call(api, 'GET', '/readyz', { token: as })
  const { code, message } = body as { code?: string; message: string }
  return { status, code, message }
}

/** The rows of the table by their faults. */
const guide = await readFile(new URL('../../docs/operations.md', import.meta.url), 'utf8')
const table = guide.slice(guide.indexOf('| fault | check |'), guide.indexOf('## Performance'))
const rows = new Map(
  [...table.matchAll(/^\| (.+?) \| `(\w+)` \| (failed|warning) \| (.+) \|$/gm)].map(
    ([, fault, check, status, finding]) => [fault!, { check: check!, status: status!, finding: finding! }],
  ),
)
const proven = new Set<string>()

/** Until doctor says what the table says; returns everything that it says then. */
async function says(fault: string, withinMs = 30_000): Promise<Checks> {
  const row = rows.get(fault)
  assert.ok(row, `the table has no row "${fault}"`)
  const finding = new RegExp(`^${RegExp.escape(row.finding).replaceAll('…', '.+')}$`)
  let last: Check | undefined
  const checks = await until(fault, withinMs, async () => {
    const found = await diagnose()
    last = found[row.check]
    return last?.status === row.status && finding.test(last.message) && found
  }).catch((error: Error) => assert.fail(`${error.message}; it says ${JSON.stringify(last)}`))
  assert.ok(checks[row.check]!.remedy, 'and what to do')
  proven.add(fault)
  return checks
}

const recovers = (check: string) =>
  until(`${check} is ok again`, 60_000, async () => (await diagnose())[check]!.status === 'ok')

/** What needs the database says so briefly, and everything else is checked. */
function assertOthersRan(checks: Checks): void {
  for (const name of ['clock', 'workers', 'queue', 'environments', 'hooks', 'secret_key'])
    assert.deepEqual(
      [checks[name]!.message, checks[name]!.remedy],
      ['Not checked: it needs the database.', 'See the check database.'],
      name,
    )
  for (const name of ['home', 'disk', 'local_steps', 'base_url', 'pages'])
    assert.doesNotMatch(checks[name]!.message, /database cannot|Not checked/, name)
}

suite('work that does not get done', () => {
  test('no worker, and an environment where nothing completes', async () => {
    await says('no worker runs')
    const { pipelineId } = await makeCustom([{ name: 'one', command: 'true' }])
    const waiting = await run(pipelineId)
    // Ten minutes later.
    await sql`update actions set updated_at = now() - interval '11 minutes' where id = ${waiting}`.execute(db)
    await says('runs wait, and nothing completes')
    world.processes.push(await world.start('worker', { GANTRY_DATABASE_CONNECTIONS: '10' }))
    await completed(waiting)
    await recovers('environments')
    await recovers('workers')
  })

  test('a job that failed its last attempt', async () => {
    await sql`
      insert into queue.job (name, data, retry_limit, dead_letter)
      values ('actions.run', '{"no": "such payload"}', 0, 'dead-letters')`.execute(db)
    await says('a job failed its last attempt')
  })

  test('receivers that fail, and one that is gone', async (t) => {
    const receiver = createServer((request, response) => {
      response.writeHead(request.url === '/gone' ? 410 : 500).end()
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    later(t, async () => void receiver.close())
    const { port } = receiver.address() as AddressInfo
    const { pipelineId } = await makeCustom([{ name: 'one', command: 'true' }])
    const hookTo = async (name: string) => {
      const body = { name, target_url: `http://127.0.0.1:${port}/${name}`, settings: {} }
      const { status, body: hook } = await ask('POST', `/pipelines/${pipelineId}/hooks/outgoing`, body)
      assert.equal(status, 201, JSON.stringify(hook))
      return hook.id as string
    }
    const failing = await hookTo('failing')
    await completed(await run(pipelineId))
    await says('a receiver answers 500')
    assert.equal((await ask('DELETE', `/hooks/outgoing/${failing}`)).status, 204)
    await hookTo('gone')
    await completed(await run(pipelineId))
    await completed(await run(pipelineId))
    await says('a receiver no longer exists, and its hook was switched off')
  })

  test('a server that vanished in the middle of a switch', async (t) => {
    const points = await installSwitchPoints(t, world.folder)
    const sshd = await startSshd(t, { settings: [`SetEnv PATH=${points.path}`] })
    const repository = await makeRepository(t, { files: { page: 'one' } })
    const servers = [await world.newSshServer(sshd, 0)]
    const shop = await world.makeDeployable({ repository: repository.address, servers })
    await completed(await run(shop.pipelineId))
    await repository.commit({ page: 'two' })
    await points.arm(shop.bases[0]!, 'after')
    await run(shop.pipelineId)
    await points.reached(shop.bases[0]!)
    await sshd.stop()
    await says('a server vanished in the middle of a switch', 120_000)
  })
})

suite('the machine and the database', () => {
  test('a home that is missing', async () => {
    await rename(world.home, `${world.home}-away`)
    const checks = await says('the home folder is missing')
    assert.equal(checks.database!.status, 'ok')
    await rename(`${world.home}-away`, world.home)
    await recovers('home')
  })

  test('every connection in use', async (t) => {
    const client = new pg.Client(connection)
    await client.connect()
    later(t, () => client.end())
    await client.query('begin')
    await client.query('select from projects for no key update')
    let isOver = false
    const hold = async () => {
      while (!isOver) await ask('PUT', '/projects/1', { name: 'Another' })
    }
    const wait = async () => {
      while (!isOver) await ask('GET', '/organizations')
    }
    const held = [hold(), hold(), wait()]
    const checks = await says('every connection is in use')
    assert.equal(checks.workers!.status, 'ok', 'the others are checked over the reserved connection')
    isOver = true
    await client.query('rollback')
    await Promise.all(held)
    await recovers('database')
  })

  test('a read-only database', async () => {
    await postgres.query('alter system set default_transaction_read_only = on')
    await postgres.query('select pg_reload_conf()')
    const checks = await says('`default_transaction_read_only` is on')
    assert.equal(checks.home!.status, 'ok')
    // It can be read, so that what is in it is checked.
    assert.match(checks.hooks!.message, /switched off/)
    assert.deepEqual((await readiness()).code, 'database_read_only')
    assert.match(
      (await readiness(token)).message,
      /^The database is read-only\. Connect Gantry to the primary/,
    )
    const client = new pg.Client({ ...connection, database: 'postgres' })
    await client.connect()
    // One by one: `alter system` cannot share a transaction.
    await client.query('set default_transaction_read_only = off')
    await client.query('alter system reset default_transaction_read_only')
    await client.end()
    await postgres.query('select pg_reload_conf()')
    await recovers('database')
    await until('it is ready', 60_000, async () => (await readiness()).status === 200)
  })

  test('a full disk', async () => {
    const { pipelineId } = await makeCustom([{ name: 'one', command: 'true' }])
    const hook = await world.makeHook(pipelineId)
    assert.ok(await world.fire(hook))
    await postgres.fillDisk()
    const payload = () => ({ text: randomBytes(50_000).toString('hex') })
    await until('a write fails', 60_000, () =>
      world.fire(hook, payload()).then(
        () => false,
        () => true,
      ),
    )
    const checks = await says('the disk of the database is full')
    assert.deepEqual([checks.disk!.status, checks.disk!.remedy], ['failed', 'See the check database.'])
    assert.equal((await readiness()).code, 'database_full')
    await postgres.freeDisk()
    await recovers('database')
    await recovers('disk')
    await until('it is ready', 60_000, async () => (await readiness()).status === 200)
    assert.ok(await world.fire(hook, payload()))
  })

  test('a frozen database', async (t) => {
    await postgres.freeze()
    const began = performance.now()
    const checks = await says('PostgreSQL is frozen')
    t.diagnostic(`answered within ${Math.round(performance.now() - began)} ms`)
    assertOthersRan(checks)
    assert.equal((await readiness()).code, 'database_unresponsive')
    await postgres.thaw()
    await recovers('database')
  })

  test('a stopped database: known administrators get everything, others the code', async () => {
    await postgres.stop()
    assertOthersRan(await says('PostgreSQL is stopped'))
    const stranger = await call(api, 'GET', '/diagnostics', { token: 'gty_at_unknown' })
    assert.deepEqual([stranger.status, stranger.body.code], [503, 'database_unreachable'])
    const { code, message } = await readiness()
    assert.deepEqual([code, message], ['database_unreachable', 'Not ready; `code` is the reason.'])
    assert.match((await readiness(METRICS_TOKEN)).message, /^The database cannot be reached\. Check that/)
    await postgres.start()
    await recovers('database')
  })
})

test('the table has these faults and no other', () => {
  assert.equal(rows.size, 12)
  assert.deepEqual(proven, new Set(rows.keys()))
})
