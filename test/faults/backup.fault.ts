import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { sql } from 'kysely'
import type pg from 'pg'
import { openBackupFile } from '#ops/backup/backup-file.ts'
import { listSequences, listTables } from '#ops/backup/catalog.ts'
import { restoreBackup } from '#ops/backup/restore-backup.ts'
import { takeBackup } from '#ops/backup/take-backup.ts'
import { connectForLongWork, reachDatabase } from '#ops/commands/reach-database.ts'
import { type ConnectionSettings, type Database, openDatabase } from '#platform/database/connect.ts'
import { migrateWithin, migrationNames } from '#platform/database/migrate.ts'
import { installQueue } from '#platform/queue/open-queue.ts'
import { createTestDatabase, urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import {
  ADMIN_ENVIRONMENT,
  call,
  FROM_SOURCES,
  logInAsAdmin,
  startGantry,
  temporaryHome,
} from '#test/support/process.ts'
import { until } from '#test/support/until.ts'
import { createAction, createHook, createHookRequest, createTestTree } from '#test/support/world.ts'

const { signal } = new AbortController()
/** What COPY writes in another way. */
const NASTY = 'tab\there, line\nhere, return\rhere, back\\slash, \\N, \\., quote\'" and 😀'
const EVERY_BYTE = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))

test('a backup restores everything: every row of every table, logins, secrets and the sample', async (t) => {
  const home = await temporaryHome(t)
  const folder = await temporaryHome(t)
  const { url } = await fillHome(t, home)
  const stopped = join(folder, 'stopped')
  const made = await command('backup', [stopped], { GANTRY_HOME: home })
  assert.equal(made.code, 0, made.output)
  assert.match(made.output, /The master key [0-9a-f]{8}: not in the file/)
  assert.equal((await stat(stopped)).mode & 0o777, 0o600)

  const newHome = join(await temporaryHome(t), 'restored')
  const restored = await command('restore', [stopped], { GANTRY_HOME: newHome })
  assert.equal(restored.code, 0, restored.output)
  assert.match(restored.output, /put the key file of the old home at/)
  const [before, after] = [await dumpHome(home), await dumpHome(newHome)]
  for (const [table, rows] of Object.entries(before.tables)) {
    // The sample's repository has moved with the home, which is a change of the tree.
    if (table === 'tree_version') continue
    const moved = rows.map((row) => row.replace(join(home, 'repositories'), join(newHome, 'repositories')))
    assert.deepEqual(after.tables[table], table === 'applications' ? moved.toSorted() : rows, table)
  }
  assert.deepEqual(Object.keys(after.tables), Object.keys(before.tables))
  assert.deepEqual(after.sequences, before.sequences)

  await t.test(
    'its time is recorded, and that of backups by other tools; a restored Gantry has no record',
    async () => {
      const [recorded, nothing] = [await newestBackup(home), await newestBackup(newHome)]
      assert.equal(nothing, null)
      assert.ok(Date.now() - Date.parse(recorded!) < 300_000, String(recorded))
      const other = await command('backup-made', [], { GANTRY_HOME: home })
      assert.equal(other.code, 0, other.output)
      assert.ok((await newestBackup(home))! > recorded!)
      assert.equal((await command('backup-made', ['now'], { GANTRY_HOME: home })).code, 1)
    },
  )
  await t.test('a start with another key fails with a clear message', async () => {
    await assert.rejects(startGantry(t, { GANTRY_HOME: newHome }), /were sealed with another key/)
  })
  await t.test('a start with the right key continues where the old Gantry stopped', async () => {
    await copyFile(join(home, 'secret.key'), join(newHome, 'secret.key'))
    const gantry = await startGantry(t, { GANTRY_HOME: newHome })
    const token = await logInAsAdmin(gantry)
    const hooks = await call(gantry, 'GET', '/pipelines/1/hooks', { token })
    assert.equal(new URL(hooks.body[0].url).pathname, new URL(url).pathname, 'sealed values open again')
    const run = await call(gantry, 'POST', new URL(url).pathname, { body: {} })
    assert.equal(run.status, 202)
    assert.equal(await endOf(gantry, token, run.body.action_id), 'completed', 'the sample can be deployed')
    assert.equal(await gantry.stop(), 0)
  })
  await t.test('a home with users is never overwritten', async () => {
    const again = await command('restore', [stopped], { GANTRY_HOME: newHome })
    assert.equal(again.code, 1)
    assert.match(again.output, /this Gantry already has users.*set GANTRY_HOME to a new folder/)
  })
  await t.test('a damaged file changes nothing and is reported as such', async () => {
    const untouched = join(folder, 'untouched')
    const cut = join(folder, 'cut')
    await copyFile(stopped, cut)
    await truncate(cut, 5_000)
    await writeFile(join(folder, 'foreign'), 'select 1;')
    for (const [file, why] of [
      [cut, /is incomplete: its end is missing. Nothing was changed/],
      [join(folder, 'foreign'), /is not a Gantry backup/],
      [join(folder, 'absent'), /no such file/],
    ] as const) {
      const rejected = await command('restore', [file], { GANTRY_HOME: untouched })
      assert.equal(rejected.code, 1)
      assert.match(rejected.output, why)
    }
    await assert.rejects(stat(untouched), { code: 'ENOENT' })
  })
  await t.test('a wrong key is rejected immediately', async () => {
    const { code, output } = await command('restore', [stopped], {
      GANTRY_HOME: join(folder, 'wrong-key'),
      GANTRY_SECRET_KEY: 'ab'.repeat(32),
      DATABASE_URL: await emptyDatabase(t),
    })
    assert.equal(code, 1)
    assert.match(output, /GANTRY_SECRET_KEY does not contain the key that sealed the secrets in this backup/)
    assert.ok(!output.includes('abab'))
  })
  await t.test('--with-key includes the key, and the output says so', async () => {
    const file = join(folder, 'with-key')
    const { output } = await command('backup', [file, '--with-key'], { GANTRY_HOME: home })
    assert.match(output, /IN THIS FILE/)
    const other = join(folder, 'other')
    const environment = { GANTRY_HOME: other, DATABASE_URL: await emptyDatabase(t) }
    assert.equal((await command('restore', [file], environment)).code, 0)
    assert.deepEqual(
      await readFile(join(other, 'secret.key'), 'utf8'),
      await readFile(join(home, 'secret.key'), 'utf8'),
    )
  })
})

test('a backup of a working Gantry is a consistent snapshot, and is restored into an external server', async (t) => {
  const home = await temporaryHome(t)
  const gantry = await startGantry(t, { GANTRY_HOME: home, ...ADMIN_ENVIRONMENT })
  const { db } = await openHome(t, home)
  const tree = await createTestTree(db)
  const writing = new AbortController()
  // Each transaction leaves an action with two targets; a backup that is not of one moment would tear some apart.
  const writers = [1, 2].map(async () => {
    let written = 0
    for (; !writing.signal.aborted; written++) {
      await db.transaction().execute((trx) => createAction(trx, tree))
    }
    return written
  })
  await until('50 runs', 60_000, async () => (await countRows(db, 'actions')) > 50)
  const file = join(home, 'backup')
  const { code, output } = await command('backup', [file], { GANTRY_HOME: home })
  writing.abort()
  const written = (await Promise.all(writers)).reduce((sum, one) => sum + one, 0)
  assert.equal(code, 0, output)
  assert.equal(await gantry.stop(), 0)

  const empty = await createTestDatabase({ empty: true })
  later(t, () => empty.drop())
  const restored = await command('restore', [file], {
    GANTRY_HOME: await temporaryHome(t),
    DATABASE_URL: urlOf(empty.settings),
  })
  assert.equal(restored.code, 0, restored.output)
  const copy = openDatabase(empty.settings, { onIdleError: () => {} })
  later(t, () => copy.close())
  const [actions, targets] = [await countRows(copy.db, 'actions'), await countRows(copy.db, 'targets')]
  assert.ok(actions > 50 && actions < written, `${actions} of ${written}`)
  assert.equal(targets, 2 * actions)
  assert.ok((await createAction(copy.db, tree)) > actions, 'numbers go on')
})

test('a backup of an earlier version is migrated to the current one, and unfinished jobs are restored', async (t) => {
  const [old, fresh] = [await createTestDatabase({ empty: true }), await createTestDatabase({ empty: true })]
  for (const database of [old, fresh]) {
    later(t, () => database.drop())
    await installQueue(database.settings)
  }
  const file = join(await temporaryHome(t), 'backup')
  const oldDb = openDatabase(old.settings, { onIdleError: () => {} })
  later(t, () => oldDb.close())
  await oldDb.db.transaction().execute((trx) => migrateWithin(trx, '0002-incoming-calls'))
  await sql`insert into users (name, email, url_slug) values (${NASTY}, 'a@example.com', 'a')`.execute(
    oldDb.db,
  )
  const jobs = [
    ['created', null, 0, 'queue.probe'],
    ['retry', '2026-01-01', 3, 'targets.run'],
    ['active', '2026-01-01', 4, 'actions.run'],
    ['completed', '2026-01-01', 0, 'actions.run'],
  ] as const
  for (const [state, started, retries, name] of jobs) {
    await sql`
      insert into queue.job (name, state, started_on, retry_count, data, keep_until)
      values (${name}, ${state}, ${started}, ${retries}, ${JSON.stringify({ state })}, '2026-01-02')`.execute(
      oldDb.db,
    )
  }
  await withClient(old.settings, (client) =>
    takeBackup(client, {
      ...{ path: file, home: '/nowhere', gantryVersion: '0', keys: null, withKey: false },
      ...{ print: () => {}, signal },
    }),
  )

  await using backup = await openBackupFile(file, signal)
  const migrations = migrationNames()
  const input = { backup, home: '/nowhere', migrations, print: () => {}, signal }
  await withClient(fresh.settings, async (client) => {
    const fault = new Error('the disk is full')
    await assert.rejects(
      restoreBackup(client, { ...input, beforeCommit: () => Promise.reject(fault) }),
      fault,
    )
    assert.deepEqual(await listTables(client), [], 'a restore that fails leaves nothing')
    await restoreBackup(client, { ...input, beforeCommit: async () => {} })
    const { rows: users } = await client.query('select name from users')
    assert.deepEqual(users, [{ name: NASTY }])
    const { rows: schema } = await client.query('select name from schema_migrations order by name')
    assert.deepEqual(
      schema.map((row) => row.name),
      migrations,
    )
    const { rows: promised } = await client.query(
      `select name, state, retry_count, data->>'state' as was, keep_until > now() as kept from queue.job
       order by retry_count`,
    )
    assert.deepEqual(promised, [
      { name: 'queue.probe', state: 'created', retry_count: 0, was: 'created', kept: true },
      { name: 'targets.run', state: 'retry', retry_count: 3, was: 'retry', kept: true },
      { name: 'actions.run', state: 'retry', retry_count: 4, was: 'active', kept: true },
    ])
  })
})

test('a backup never creates a database, and wrong arguments print the usage', async (t) => {
  const home = await temporaryHome(t)
  const { code, output } = await command('backup', [join(home, 'file')], { GANTRY_HOME: home })
  assert.equal(code, 1)
  assert.match(output, /there is no database in/)
  assert.deepEqual(await readdir(home), [])
  const wrong = await command('restore', [], { GANTRY_HOME: home })
  assert.equal(wrong.code, 1)
  assert.match(wrong.output, /expected one file\nusage: npm run restore/)
})

/** A Gantry that was used: through its API, and with rows in every table. It is stopped when this resolves. */
async function fillHome(t: TestContext, home: string): Promise<{ url: string }> {
  const gantry = await startGantry(t, { GANTRY_HOME: home, ...ADMIN_ENVIRONMENT })
  const token = await logInAsAdmin(gantry)
  const hook = await call(gantry, 'POST', '/pipelines/1/hooks/incoming', { token, body: { name: 'Push' } })
  assert.equal(hook.status, 201)
  const run = await call(gantry, 'POST', new URL(hook.body.url).pathname, { body: {} })
  assert.equal(await endOf(gantry, token, run.body.action_id), 'completed')
  // What runs would clean up some of the rows below.
  assert.equal(await gantry.stop(), 0)
  await withStoppedHome(home, async (settings) => {
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    const { root_directory } = await db
      .selectFrom('servers')
      .select('root_directory')
      .where('name', '=', 'This machine')
      .executeTakeFirstOrThrow()
    // Under root it lies outside of the home.
    later(t, () => rm(root_directory, { recursive: true, force: true }))
    const tree = await createTestTree(db)
    const actionId = await createAction(db, tree, { trigger_comment: NASTY })
    const hookId = await createHook(db, tree, 'outgoing')
    await createHookRequest(db, hookId, 'outgoing', { action_id: actionId, request_body: EVERY_BYTE })
    await withClient(settings, async (client) => {
      const isEmpty = async (name: string) =>
        (await client.query(`select from ${name} limit 1`)).rowCount === 0
      for (const [name, insert] of Object.entries(ROWS)) if (await isEmpty(name)) await client.query(insert)
      for (const { name } of await listTables(client))
        assert.equal(await isEmpty(name), false, `${name} has no row to bring back: add one to this test`)
    })
    await close()
  })
  return { url: hook.body.url }
}

/** A row for each table that the use above leaves empty. */
const ROWS: Record<string, string> = {
  detached_steps: `insert into detached_steps (token, target_id, step_order, server_id, attempt, state_path, ended_at)
    select 'token', id, 1, server_id, 1, '/home/deploy/.gantry/token', now() from targets limit 1`,
  attached_servers: `insert into attached_servers (server_id, reason) select id, 'It has no /proc.' from servers limit 1`,
  checks_terms: `insert into checks_terms (pipeline_id, terms, since, until)
    select id, '{"names": null}', '2026-01-01', '2026-01-02' from pipelines limit 1`,
  commit_checks: `insert into commit_checks (credential_id, provider, api_url, repository, commit)
    values (1, 'github', 'https://api.github.com', 'acme/shop', 'abc')`,
  check_requests: `insert into check_requests (action_id, environment_id, pipeline_id)
    select id, environment_id, pipeline_id from actions limit 1`,
  run_days: `insert into run_days select id, '2026-01-01', 'completed', 1, 1 from environments limit 1`,
  roles: `insert into roles (organization_id, name, permissions) select id, 'Releaser', '{action:view}' from organizations limit 1`,
  password_resets: `insert into password_resets (user_id, hash, expires_at)
    select id, decode(repeat('02', 32), 'hex'), now() from users limit 1`,
  sign_in_networks: `insert into sign_in_networks (user_id, network) select id, '192.0.2.0/24' from users limit 1`,
  identities: `insert into identities (user_id, issuer, subject) select id, 'https://login.example.com', 'one' from users limit 1`,
  login_failures: `insert into login_failures (subject) values ('\\x00ff')`,
  application_variables: `insert into application_variables (application_id, name, value) select max(id), 'NAME', '\\x00' from applications`,
  pipeline_run_after: `insert into pipeline_run_after select a.id, b.id, a.environment_id from pipelines a join pipelines b
    on a.environment_id = b.environment_id and a.id < b.id limit 1`,
  delivery_claims: `insert into delivery_claims (hook_id, key, action_id) select id, decode(repeat('00', 32), 'hex'), 1 from hooks limit 1`,
  refused_calls: `insert into refused_calls select id, now(), 'rate_limited', 1 from hooks limit 1`,
  used_credits: `insert into used_credits select id, '2026-01-01', 1 from environments limit 1`,
  action_blocks: 'insert into action_blocks select 0, id, 1, now(), now() from environments limit 1',
  releases_on_disk: `insert into releases_on_disk select a.id, '20260101000000-aaaaaaa', s.id from applications a, servers s limit 1`,
  live_releases: `insert into live_releases select a.id, s.id, (select min(id) from actions), '20260101000000-aaaaaaa'
    from applications a, servers s limit 1`,
  unknown_live_releases: `insert into unknown_live_releases (application_id, server_id, reason)
    select a.id, s.id, 'The run ended during the switch.' from applications a, servers s limit 1`,
  deployments: `insert into deployments (action_id, application_id, environment_id, is_rollback, commit_sha, has_new_commit,
    server_ids, first_activated_at, last_activated_at) select 1, id, environment_id, false, 'abc', true, '{1}', now(), now()
    from applications limit 1`,
  action_changes: `insert into action_changes select min(id), '', null, null, null, '{1}', '{"rewritten": false}' from actions`,
  retention_progress: 'insert into retention_progress select id, 1 from environments limit 1',
  credential_uses: 'insert into credential_uses select id, 1 from credentials limit 1',
  deliveries: `insert into deliveries (hook_id, event_id, action_id, is_final) select id, 1, 1, true from hooks limit 1`,
  rate_budgets: `insert into rate_budgets select id, 'https://api.github.com', now(), 'rate limit', 0 from credentials limit 1`,
  status_checks: `insert into status_checks (action_id, hook_id, event_id, credential_id, kind, url, context, state, link)
    select 1, id, 1, 1, 'github_status', 'https://api.github.com/repos/a/b/statuses/c', 'gantry', 'success',
      'http://localhost/app/actions/1' from hooks limit 1`,
  hook_polls: 'insert into hook_polls (hook_id) select id from hooks limit 1',
  polled_refs: `insert into polled_refs (hook_id, branch, tip) select hook_id, 'main', repeat('a', 40) from hook_polls limit 1`,
  hook_connections: `insert into hook_connections (hook_id, user_id, credential_id, provider, api_url, home_url, repository, events)
    select id, 1, 1, 'github', 'https://api.github.com', 'https://github.com', 'acme/shop', '{push}' from hooks limit 1`,
  called_branches: `insert into called_branches (hook_id, branch, call_id, commit)
    select hook_id, 'main', gen_random_uuid(), repeat('a', 40) from hook_connections limit 1`,
  catch_ups: 'insert into catch_ups (hook_id) select id from hooks limit 1',
  missed_calls: `insert into missed_calls (catch_up_id, hook_id, delivery_id, missed_at, state)
    select id, hook_id, 'one', now(), 'waiting' from catch_ups limit 1`,
  webhook_removals: `insert into webhook_removals (hook_id, user_id, credential_id, provider, api_url, home_url, repository)
    select id, 1, 1, 'github', 'https://api.github.com', 'https://github.com', 'acme/shop' from hooks limit 1`,
  captured_values: `insert into captured_values (id, action_id, hook_id, values, origin, is_recreated)
    select gen_random_uuid(), (select min(id) from actions), id, '{"id": 1}', 'https://example.com', false from hooks limit 1`,
  freezes: `insert into freezes (organization_id, name, reason, starts_at, created_by)
    select o.id, 'Holidays', 'Closed', '2099-12-24', u.id from organizations o, users u limit 1`,
  approval_terms: `insert into approval_terms (environment_id, terms, since, until)
    select id, '{"required": 1}', '2020-01-01', '2020-01-02' from environments limit 1`,
  approval_requests: `insert into approval_requests (action_id, environment_id, pipeline_id, subject, author_emails)
    select id, environment_id, pipeline_id, 'x', '{a@example.com}' from actions order by id limit 1`,
  approvals: `insert into approvals (action_id, user_id, decision, subject)
    select (select min(id) from actions), id, 'approved', 'x' from users limit 1`,
  started_settings: `insert into started_settings (pipeline_id, action_id, stamp)
    select pipeline_id, id, 'x' from actions order by id limit 1`,
  frozen_environments: 'insert into frozen_environments select id, now(), true from environments limit 1',
  gate_overrides: `insert into gate_overrides (action_id, gate, reason, freeze_ids, freeze_starts, user_id)
    select (select min(id) from actions), 'freeze', 'Hotfix', '{1,2}', '{2026-01-01,2026-01-02}', id from users limit 1`,
  superseded_pipelines: `insert into superseded_pipelines (pipeline_id, environment_id, newest)
    select pipeline_id, environment_id, id from actions order by id limit 1`,
  hook_health: 'insert into hook_health (hook_id) select id from hooks limit 1',
  audit_entries: `insert into audit_entries (organization_id, verb, subject_type, subject_id, subject_name, after)
    select id, 'create', 'hook', '1', 'Hook', '{"a":  1}' from organizations limit 1`,
  invitation_grants: `with one as (insert into invitations (email, organization_id, invited_by, hash, expires_at)
      select 'new@example.com', o.id, u.id, decode(repeat('01', 32), 'hex'), now() from users u, organizations o limit 1
      returning id, organization_id)
    insert into invitation_grants (invitation_id, organization_id, built_in_role)
    select id, organization_id, 'viewer' from one`,
}

async function endOf(gantry: { url?: string }, token: string, actionId: number): Promise<string> {
  return until('the run has ended', 60_000, async () => {
    const { status } = (await call(gantry, 'GET', `/actions/${actionId}`, { token })).body
    return ['completed', 'failed', 'skipped'].includes(status) && status
  })
}

async function openHome(
  t: TestContext,
  home: string,
): Promise<{ db: Database; settings: ConnectionSettings }> {
  const { settings } = await reachDatabase(
    { home, databaseUrl: undefined },
    { create: false, print: () => {} },
  )
  const database = openDatabase(settings, { onIdleError: () => {} })
  later(t, () => database.close())
  return { db: database.db, settings }
}

/** Of a home whose Gantry is stopped: every row as a text, and the next number of each sequence. */
function dumpHome(home: string) {
  return withClientOf(home, async (client) => {
    const tables: Record<string, string[]> = {}
    for (const { name } of await listTables(client)) {
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
      tables[name] = rows.map(({ row }) => row).toSorted()
    }
    return { tables, sequences: await listSequences(client) }
  })
}

const withClientOf = <Result>(home: string, work: (client: pg.Client) => Promise<Result>) =>
  withStoppedHome(home, (settings) => withClient(settings, work))

/** Its database is started for the moment. */
async function withStoppedHome<Result>(
  home: string,
  work: (settings: ConnectionSettings) => Promise<Result>,
): Promise<Result> {
  await using reached = await reachDatabase(
    { home, databaseUrl: undefined },
    { create: false, print: () => {} },
  )
  return await work(reached.settings)
}

async function withClient<Result>(
  settings: ConnectionSettings,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = await connectForLongWork(settings)
  return work(client).finally(() => client.end())
}

/** What the database of a stopped home has recorded. */
function newestBackup(home: string): Promise<string | null> {
  return withClientOf(home, async (client) => {
    const { rows } = await client.query<{ made_at: Date }>('select made_at from newest_backup')
    return rows[0]?.made_at.toISOString() ?? null
  })
}

type Name = 'backup' | 'backup-made' | 'restore'

async function command(name: Name, args: string[], environment: Record<string, string>) {
  const script = fileURLToPath(new URL(`../../server/ops/backup/${name}.ts`, import.meta.url))
  const child = spawn(process.execPath, [script, ...args], {
    env: { ...FROM_SOURCES, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  return { code: child.exitCode, output: output + errors }
}

async function countRows(db: Database, table: 'actions' | 'targets'): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) from ${sql.table(table)}`.execute(db)
  return rows[0]!.count
}

async function emptyDatabase(t: TestContext): Promise<string> {
  const { settings, drop } = await createTestDatabase({ empty: true })
  later(t, drop)
  return urlOf(settings)
}
