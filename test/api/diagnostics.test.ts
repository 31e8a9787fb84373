// GET /diagnostics on a real database: a healthy installation, what can fail in one, and who may see it.
import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { chmod, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '#adapters/repositories/fixtures.ts'
import { noteDetaching } from '#model/detached/finished-steps.ts'
import { assertSameKey } from '#ops/commands/same-key.ts'
import { administer } from '#test/support/database.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createAction, createHook, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const home = await temporaryFolder({ after })
/** Others reach it, encrypted. */
const BASE_URL = 'https://gantry.example.com'
let isQueueWorking = true
let waiting = 0
const api = await openTestApp(
  { after },
  {
    environment: { GANTRY_HOME: home },
    baseUrl: () => BASE_URL,
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
      ...['database', 'clock', 'workers', 'queue', 'environments', 'dead_letters', 'deliveries', 'hooks'],
      ...['connections', 'tokens', 'servers', 'detached_steps', 'live_releases', 'backups'],
      ...['home', 'disk', 'secret_key', 'local_steps', 'base_url', 'pages'],
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

test('hooks that are not connected are named with their applications', async () => {
  const own = await createTestTree(db)
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: own.organizationId })
  const hookId = await createHook(db, own, 'incoming', { name: 'Push' })
  await sql`update applications set name = 'Shop' where id = ${own.applicationId}`.execute(db)
  await sql`
    insert into hook_connections (hook_id, user_id, credential_id, provider, api_url, home_url, repository, events, state)
    values (${hookId}, ${own.owner.id}, ${own.credentialId}, 'github', 'https://api.github.com', 'https://github.com',
      'acme/shop', '{push}', 'missing')`.execute(db)
  const { status, message } = (await diagnose(member.token)).connections!
  await sql`delete from hook_connections where hook_id = ${hookId}`.execute(db)
  assert.equal(status, 'warning')
  assert.equal(message, '1 hook is not connected to its repository: Push of Shop.')
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
  assert.match((await diagnose()).dead_letters!.message, /^1 job failed permanently/)
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
  assert.match(blind.deliveries!.message, /1 failed permanently in the last day/)
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: tree.organizationId })
  const seeing = await diagnose(member.token)
  assert.equal(seeing.servers!.message, '1 server was unreachable at the last run: web-1.')
  assert.match(seeing.hooks!.message, /: Chat\.$/)
})

test('servers on which steps end with their connection are reported, until they are removed', async () => {
  const own = await createTestTree(db)
  const [serverId] = own.serverIds
  assert.equal((await diagnose()).detached_steps!.status, 'ok')
  await noteDetaching(db, serverId!, 'It has no /proc.')
  const blind = await diagnose()
  assert.equal(blind.detached_steps!.status, 'warning')
  assert.equal(blind.detached_steps!.message, 'On 1 server, steps end with their connection.')
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: own.organizationId })
  const { detached_steps } = await diagnose(member.token)
  assert.equal(detached_steps!.message, 'On 1 server, steps end with their connection: web-1.')
  assert.match(detached_steps!.remedy!, /POST \/servers\/\{id\}\/check/)
  const setRemoved = (deleted_at: string | null) =>
    db.updateTable('servers').set({ deleted_at }).where('id', '=', serverId!).execute()
  await setRemoved(new Date().toISOString())
  assert.equal(await statusOf('detached_steps'), 'ok')
  await setRemoved(null)
  await noteDetaching(db, serverId!, null)
  assert.equal(await statusOf('detached_steps'), 'ok')
})

test('hooks that fail are reported before they are switched off', async () => {
  const own = await createTestTree(db)
  const before = (await diagnose()).hooks!.message
  const hook = await createHook(db, own, 'outgoing', { name: 'Pager' })
  await sql`insert into hook_health (hook_id, failures_in_a_row, failing_since) values (${hook}, 1, now())`.execute(
    db,
  )
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: own.organizationId })
  const { hooks } = await diagnose(member.token)
  assert.equal(hooks!.message, `${before} 1 outgoing hook is failing: Pager.`)
  assert.match(hooks!.remedy!, /what its receiver answers/)
})

test('an environment where work waits and nothing completes is reported', async () => {
  const own = await createTestTree(db)
  const updated_at = new Date(Date.now() - 700_000).toISOString()
  const queued = {
    status: 'queued',
    status_reason_code: 'QUEUED',
    started_at: null,
    completed_at: null,
  } as const
  await createAction(db, { ...own, serverIds: [] }, { ...queued, updated_at })
  const member = await createPerson(db, { admin: true })
  await grantRole(db, member.id, 'viewer', { organizationId: own.organizationId })
  const { environments } = await diagnose(member.token)
  assert.match(
    environments!.message,
    /^Work waits in 1 environment, and nothing has completed there for 10 minutes: .+ \(1 run\)\.$/,
  )
  assert.equal(environments!.status, 'failed')
  assert.match((await diagnose()).environments!.message, /10 minutes\.$/)
})

test('a home that is missing is reported as such, and the database is fine', async (t) => {
  const homeless = await openTestApp(t, { environment: { GANTRY_HOME: join(home, 'missing') } })
  const person = await createPerson(homeless.db, { admin: true })
  const { body } = await homeless.request('GET', '/diagnostics', { token: person.token })
  const checks: Record<string, Check> = Object.fromEntries(
    body.checks.map((check: Check) => [check.name, check]),
  )
  assert.match(checks.home!.message, /^The folder of GANTRY_HOME does not exist/)
  assert.equal(checks.home!.status, 'failed')
  assert.deepEqual(
    [checks.disk!.message, checks.disk!.remedy],
    ['Not checked: the folder of GANTRY_HOME is missing.', 'See the check home.'],
  )
  assert.equal(checks.database!.status, 'ok')
  assert.doesNotMatch(JSON.stringify(body), /does not answer|cannot be reached/)
})

test('without the database, administrators who were here before get every check that needs none', async (t) => {
  const away = await openTestApp(t, { environment: { GANTRY_HOME: home }, baseUrl: () => BASE_URL })
  const [seen, revoked, unseen] = [
    await createPerson(away.db, { admin: true }),
    await createPerson(away.db, { admin: true }),
    await createPerson(away.db, { admin: true }),
  ]
  const ask = (token: string, url = '/diagnostics') => away.request('GET', url, { token })
  // Any use counts.
  for (const { token } of [seen, revoked]) assert.equal((await ask(token, '/workers')).status, 200)
  const { database } = away.settings
  await administer(`alter database ${database} allow_connections false`)
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
  const { status, body } = await ask(seen.token)
  assert.equal(status, 200)
  const checks: Record<string, Check> = Object.fromEntries(
    body.checks.map((check: Check) => [check.name, check]),
  )
  assert.deepEqual(
    [checks.database!.status, checks.database!.message],
    ['failed', 'The database cannot be reached.'],
  )
  assert.match(checks.database!.remedy!, /Check that PostgreSQL runs/)
  for (const name of ['clock', 'workers', 'queue', 'environments', 'hooks', 'secret_key'])
    assert.deepEqual(
      [checks[name]!.message, checks[name]!.remedy],
      ['Not checked: it needs the database.', 'See the check database.'],
    )
  for (const name of ['home', 'base_url']) assert.equal(checks[name]!.status, 'ok', name)
  // Others learn the code only, and no other route lets anyone in.
  for (const token of [unseen.token, 'no-token']) {
    const answer = await ask(token)
    assert.deepEqual([answer.status, answer.body.code], [503, 'database_unreachable'])
  }
  assert.equal((await ask('')).status, 401)
  for (const url of ['/workers', '/users/me', '/jobs/dead-letters', '/metrics'])
    assert.equal((await ask(seen.token, url)).status, 503, url)

  await administer(`alter database ${database} allow_connections true`)
  await sql`update tokens set revoked_at = now() where user_id = ${revoked.id}`.execute(away.db)
  assert.equal((await ask(revoked.token)).status, 401)
  assert.equal((await ask(unseen.token)).status, 200)
  // Known as revoked from then on, also while the database is away again.
  await administer(`alter database ${database} allow_connections false`)
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
  assert.deepEqual([(await ask(revoked.token)).status, (await ask(unseen.token)).status], [503, 200])
  await administer(`alter database ${database} allow_connections true`)
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

test('a backup that is older than 26 hours is a warning; none at all is a hint', async () => {
  const of = async () => (await diagnose()).backups!
  assert.match((await of()).message, /^No backup is recorded yet: gantry-server backup makes one/)
  await sql`insert into newest_backup (made_at) values (now() - interval '90 minutes')`.execute(db)
  assert.deepEqual(await of(), {
    name: 'backups',
    status: 'ok',
    message: 'The newest backup is 1 hour old.',
    remedy: null,
  })
  await sql`update newest_backup set made_at = now() - interval '27 hours'`.execute(db)
  const { status, message, remedy } = await of()
  assert.deepEqual([status, message], ['warning', 'The newest backup is 27 hours old.'])
  assert.match(remedy!, /gantry-server backup-made/)
})
