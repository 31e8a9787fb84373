import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readdir } from 'node:fs/promises'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { type Kysely, sql } from 'kysely'
import { compareReleases, VERSION } from '#platform/version.ts'
import { createTestDatabase } from '#test/support/database.ts'
import { createHook, createPerson, createTestTree, grantRole } from '#test/support/world.ts'
import { openDatabase } from './connect.ts'
import { type Migration, migrate, migrationNames } from './migrate.ts'

async function migrationFiles(): Promise<string[]> {
  const files = await readdir(new URL('./migrations/', import.meta.url))
  return files
    .filter((file) => /^\d/.test(file))
    .map((file) => file.replace(/\.ts$/, ''))
    .sort()
}

const LAST_OF_0_1_0 = '0020-runs-of-users'

async function tableNames(db: Kysely<unknown>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select tablename as name from pg_tables where schemaname = 'public'`.execute(db)
  return rows.map(({ name }) => name)
}

/** Those that this transaction locks against writes. */
async function lockedTables(db: Kysely<unknown>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select distinct c.relname as name from pg_locks l join pg_class c on c.oid = l.relation
    where l.pid = pg_backend_pid() and c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    order by c.relname`.execute(db)
  return rows.map(({ name }) => name)
}

describe('migrating', () => {
  test('every file of the folder is listed, in order', async () => {
    assert.deepEqual(migrationNames(), await migrationFiles())
  })

  test('four concurrent processes migrate an empty database, and every migration is recorded once', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const program = `
      const { openDatabase } = await import(${JSON.stringify(import.meta.resolve('./connect.ts'))})
      const { migrate } = await import(${JSON.stringify(import.meta.resolve('./migrate.ts'))})
      const database = openDatabase(JSON.parse(process.argv[1]), { onIdleError: () => {} })
      await migrate(database.db)
      await database.close()
      console.log('migrated')`
    const run = () =>
      promisify(execFile)(process.execPath, ['--input-type=module', '-e', program, JSON.stringify(settings)])
    const outcomes = await Promise.all([run(), run(), run(), run()])
    assert.deepEqual(
      outcomes.map(({ stdout }) => stdout),
      Array(4).fill('migrated\n'),
    )
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    const { rows } = await sql<{ name: string }>`select name from schema_migrations order by name`.execute(db)
    assert.deepEqual(
      rows.map((row) => row.name),
      await migrationFiles(),
    )
    await createTestTree(db)
  })

  test('every migration names the oldest release that tolerates it, which is not newer than this one', async () => {
    for (const name of await migrationFiles()) {
      const { toleratedBy } = await import(`./migrations/${name}.ts`)
      assert.match(String(toleratedBy), /^\d+\.\d+\.\d+$/, name)
      assert.ok(compareReleases(toleratedBy, VERSION) <= 0, name)
    }
  })

  test('every migration since 0.1.0 names all tables that it locks', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    await migrate(db, { to: LAST_OF_0_1_0 })
    const locked: Record<string, string[]> = {}
    const named: Record<string, string[]> = {}
    const migrations: Record<string, Migration> = {}
    for (const name of await migrationFiles()) {
      const migration: Migration = await import(`./migrations/${name}.ts`)
      const up: Migration['up'] = async (trx) => {
        const before = await tableNames(trx)
        await migration.up(trx)
        locked[name] = (await lockedTables(trx)).filter((table) => before.includes(table))
        named[name] = [...(migration.locks ?? [])].sort()
      }
      migrations[name] = { ...migration, up }
    }
    await migrate(db, { migrations })
    assert.ok(Object.keys(locked).length > 0)
    assert.deepEqual(named, locked)
  })

  test('a second time changes nothing', async (t) => {
    const { settings, drop } = await createTestDatabase()
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    const recorded = () => sql`select * from schema_migrations`.execute(db)
    const { rows } = await recorded()
    await migrate(db)
    assert.deepEqual((await recorded()).rows, rows)
  })

  test('sets off_since for the hooks of an older database', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    await migrate(db, { to: '0006-dashboard' })
    const tree = await createTestTree(db)
    const on = await createHook(db, tree, 'incoming')
    const paused = await createHook(db, tree, 'outgoing', { active: false })
    const failed = await createHook(db, tree, 'outgoing', {
      active: false,
      disabled_at: '2026-01-02T03:04:05.678Z',
      disabled_reason: 'gone',
    })
    await migrate(db)
    const rows = await db.selectFrom('hooks').select(['id', 'off_since', 'updated_at']).execute()
    const offSince = Object.fromEntries(rows.map((row) => [row.id, row.off_since]))
    const { updated_at } = rows.find((row) => row.id === paused)!
    assert.deepEqual(offSince, { [on]: null, [paused]: updated_at, [failed]: '2026-01-02T03:04:05.678Z' })
  })

  test('makes a session of every login of an older database, and its tokens stay valid', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    await migrate(db, { to: '0008-audit-of-accounts' })
    const { id } = await createPerson(db)
    const [browser, program] = [randomUUID(), randomUUID()]
    await sql`
      insert into tokens (user_id, family, kind, in_cookie, created_at, hash, expires_at) values
        (${id}, ${browser}, 'access', true, '2026-01-02Z', sha256('1'), now() + interval '1 hour'),
        (${id}, ${program}, 'access', false, '2026-01-03Z', sha256('2'), now() + interval '1 hour'),
        (${id}, ${program}, 'refresh', false, '2026-01-03Z', sha256('3'), now() + interval '1 hour')`.execute(
      db,
    )
    const before = await sql`select * from tokens order by id`.execute(db)
    // No further: a later migration may add columns to tokens.
    await migrate(db, { to: '0009-sessions' })
    assert.deepEqual((await sql`select * from tokens order by id`.execute(db)).rows, before.rows)
    const sessions = await db
      .selectFrom('sessions')
      .select(['kind', 'ip_address', 'user_agent', 'created_at', 'last_used_at'])
      .where('user_id', '=', id)
      .orderBy('id')
      .execute()
    const unknown = { ip_address: null, user_agent: null }
    const at = (time: string) => ({ created_at: time, last_used_at: time })
    assert.deepEqual(sessions.slice(0, 2), [
      { kind: 'browser', ...unknown, ...at('2026-01-02T00:00:00.000Z') },
      { kind: 'api', ...unknown, ...at('2026-01-03T00:00:00.000Z') },
    ])
    assert.equal(sessions.length, 3)
  })

  test('turns pending accounts of an older database into invitations, and leaves all others alone', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    await migrate(db, { to: '0008-audit-of-accounts' })
    const tree = await createTestTree(db)
    const [pending, named, deactivated, used] = [
      await createPerson(db),
      await createPerson(db),
      await createPerson(db),
      await createPerson(db, { passwordHash: 'set' }),
    ]
    for (const person of [pending, named, deactivated, used]) {
      const { organizationId, owner } = tree
      await grantRole(db, person.id, 'viewer', { organizationId })
      await sql`insert into invitations (user_id, organization_id, invited_by, hash, expires_at)
        values (${person.id}, ${organizationId}, ${owner.id}, sha256(${person.email}::bytea), now())`.execute(
        db,
      )
    }
    await sql`update users set active = false where id = ${deactivated.id}`.execute(db)
    await sql`update projects set created_by = ${named.id}`.execute(db)
    await migrate(db)
    const users = await db.selectFrom('users').select('id').orderBy('id').execute()
    const kept = [tree.owner.id, named.id, deactivated.id, used.id]
    assert.deepEqual(
      users.map(({ id }) => id),
      kept,
    )
    const grants = await db.selectFrom('grants').select('user_id').orderBy('user_id').execute()
    assert.deepEqual(
      grants.map(({ user_id }) => user_id),
      [tree.owner.id, deactivated.id, used.id],
    )
    const invitations = await db
      .selectFrom('invitations')
      .innerJoin('invitation_grants as offer', 'offer.invitation_id', 'invitations.id')
      .select(['email', 'name', 'built_in_role'])
      .orderBy('invitations.id')
      .execute()
    const expected = [pending, named].map(({ email }) => ({
      email,
      name: email.split('@')[0],
      built_in_role: 'viewer',
    }))
    assert.deepEqual(invitations, expected)
  })

  test('a failed migration changes nothing, and is named', async (t) => {
    const { settings, drop } = await createTestDatabase({ empty: true })
    t.after(drop)
    const { db, close } = openDatabase(settings, { onIdleError: () => {} })
    t.after(close)
    await sql`create table tree_version (taken boolean)`.execute(db)
    await assert.rejects(
      migrate(db),
      /^Error: Migration 0001-ground-floor failed: .*"tree_version" already exists/,
    )
    const { rows } = await sql`select from pg_tables where tablename = 'users'`.execute(db)
    assert.equal(rows.length, 0)
  })
})
