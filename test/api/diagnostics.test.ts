// GET /diagnostics on a real database: a healthy installation, what can fail in one, and who may see it.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '#adapters/repositories/fixtures.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createHook, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const home = await temporaryFolder({ after })
let isQueueWorking = true
let waiting = 0
const api = await openTestApp(
  { after },
  {
    environment: { GANTRY_HOME: home },
    health: { isQueueWorking: async () => isQueueWorking },
    poolState: () => ({ max: 10, open: 3, idle: 2, waiting }),
  },
)
const { db } = api
await assertSameKey(db, api.box)
const keyFile = join(home, 'secret.key')
await writeFile(keyFile, 'not read by anything', { mode: 0o600 })
await sql`insert into workers (id) values (gen_random_uuid())`.execute(db)
const admin = await createPerson(db, { admin: true })
const tree = await createTestTree(db)

type Check = { name: string; status: string; message: string; remedy: string | null }

async function diagnose(token = admin.token): Promise<Record<string, Check>> {
  const { status, body, text } = await api.request('GET', '/diagnostics', { token })
  assert.equal(status, 200, text)
  for (const check of body.checks) assert.equal(check.remedy === null, check.status === 'ok', check.name)
  return Object.fromEntries(body.checks.map((check: Check) => [check.name, check]))
}

async function statusOf(name: string): Promise<string> {
  return (await diagnose())[name]!.status
}

test('a healthy installation is reported as such, with its version and time', async () => {
  const before = Date.now()
  const { body } = await api.request('GET', '/diagnostics', { token: admin.token })
  const time = Date.parse(body.time)
  assert.ok(time >= before && time <= Date.now())
  assert.equal(body.version, '0.0.0-test')
  const checks: Check[] = body.checks
  assert.deepEqual(
    checks.map(({ name }) => name),
    [
      ...['database', 'clock', 'workers', 'queue', 'dead_letters', 'deliveries', 'hooks', 'tokens'],
      ...['servers', 'live_releases'],
      ...['disk', 'secret_key', 'local_steps', 'base_url', 'pages'],
    ],
  )
  // The rest depends on the machine that runs the tests.
  const machine = ['disk', 'local_steps', 'pages']
  const troubles = checks.filter(({ name, status }) => status !== 'ok' && !machine.includes(name))
  assert.deepEqual(troubles, [])
  assert.match(
    checks[0]!.message,
    /^PostgreSQL \d+\.\d+ answers within \d+ ms; 1 of 10 connections are in use\.$/,
  )
  assert.ok(!JSON.stringify(body).includes(home), 'no path is shown')
})

test('a client learns name and version without a token, and without the database', async () => {
  api.statements.length = 0
  const { status, body } = await api.request('GET', '/')
  assert.deepEqual([status, body.name, body.version], [200, 'Gantry', '0.0.0-test'])
  assert.deepEqual(api.statements, [])
})

test('only instance administrators may ask', async () => {
  assert.equal((await api.request('GET', '/diagnostics', { token: tree.owner.token })).status, 403)
  assert.equal((await api.request('GET', '/diagnostics')).status, 401)
})

test('work that does not get done is reported', async () => {
  await sql`update workers set seen_at = now() - interval '1 hour'`.execute(db)
  assert.equal(await statusOf('workers'), 'failed')
  await sql`update workers set seen_at = now()`.execute(db)

  isQueueWorking = false
  assert.equal(await statusOf('queue'), 'failed')
  isQueueWorking = true
  waiting = 2
  assert.match((await diagnose()).database!.message, /2 requests wait for one/)
  waiting = 0

  const enqueue = (name: string, source: string | null, age: string) =>
    sql`
    insert into queue.job (name, source_name, start_after)
    values (${name}, ${source}, queue.job_now() - ${age}::interval)`.execute(db)
  await enqueue('actions.run', null, '90 seconds')
  assert.match((await diagnose()).queue!.message, /has waited for 9\d s/)
  await enqueue('dead-letters', 'actions.run', '1 day')
  assert.match((await diagnose()).dead_letters!.message, /^1 job failed for good/)
  await sql`delete from queue.job`.execute(db)
})

test('names of servers and hooks are shown only to those who may see them', async () => {
  const hook = await createHook(db, tree, 'outgoing', {
    name: 'Chat',
    active: false,
    disabled_at: new Date().toISOString(),
    disabled_reason: 'It answered 410.',
  })
  const unreachable = { status: 'failed', status_reason_code: 'FAILED_UNREACHABLE' } as const
  const past = new Date(Date.now() - 60_000).toISOString()
  const [first, second] = tree.serverIds as [number, number]
  await createAction(db, { ...tree, serverIds: [first] }, unreachable, unreachable)
  // The other one was reached since.
  await createAction(db, { ...tree, serverIds: [second] }, unreachable, {
    ...unreachable,
    completed_at: past,
  })
  const actionId = await createAction(db, { ...tree, serverIds: [second] })
  await db
    .insertInto('deliveries')
    .values({
      hook_id: hook,
      event_id: 1,
      action_id: actionId,
      is_final: true,
      state: 'failed',
      last_request_id: randomUUIDv7(),
    })
    .execute()
  const blind = await diagnose()
  assert.equal(blind.servers!.message, '1 server was unreachable at the last run.')
  assert.match(blind.hooks!.message, /^1 outgoing hook is switched off because the receiver kept failing\.$/)
  assert.match(blind.deliveries!.message, /1 failure for good in the last day/)
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: tree.organizationId })
  const seeing = await diagnose(member.token)
  assert.equal(seeing.servers!.message, '1 server was unreachable at the last run: web-1.')
  assert.match(seeing.hooks!.message, /: Chat\.$/)
})

test('a key file that is missing or open to others is reported', async () => {
  await chmod(keyFile, 0o644)
  assert.equal(await statusOf('secret_key'), 'warning')
  await rm(keyFile)
  assert.equal(await statusOf('secret_key'), 'failed')
  const stranger = await openTestApp({ after }, { environment: { GANTRY_HOME: home } })
  await assertSameKey(stranger.db, api.box)
  const person = await createPerson(stranger.db, { admin: true })
  const { body } = await stranger.request('GET', '/diagnostics', { token: person.token })
  const { message } = body.checks.find((check: Check) => check.name === 'secret_key')
  assert.equal(message, 'The secrets in the database were encrypted with another key.')
})

test('a check whose statement hangs has failed; the others answer, and its connection is free again', async () => {
  const opened = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const holder = db.transaction().execute(async (trx) => {
    await sql`lock table workers in access exclusive mode`.execute(trx)
    locked.resolve()
    await opened.promise
  })
  await locked.promise
  try {
    const checks = await diagnose()
    assert.deepEqual([checks.workers!.status, /too long/.test(checks.workers!.message)], ['failed', true])
    assert.equal(checks.database!.status, 'ok')
    const { rows } = await sql<{ stuck: number }>`
      select count(*)::int as stuck from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
    assert.equal(rows[0]!.stuck, 0)
  } finally {
    opened.resolve()
    await holder
  }
  assert.equal(await statusOf('workers'), 'ok')
})
