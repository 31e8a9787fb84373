import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/until.ts'
import { type Database, openDatabase } from './connect.ts'
import { openListener } from './listen.ts'
import { lockTables } from './lock-tables.ts'
import { type Migration, migrate, migrationNames } from './migrate.ts'
import { isOutage } from './outages.ts'
import { watchSchema } from './schema-watch.ts'
import { endIdleConnections } from './stale-statements.ts'

const LATER = '9001-later'

/** Everything that is known, and one more. */
async function withLater(
  toleratedBy: string,
  statement: string,
  locks: string[] = [],
): Promise<Record<string, Migration>> {
  const known = migrationNames().map((name) => [name, { up: async () => {}, toleratedBy: '0.1.0' }])
  const up = async (db: Parameters<Migration['up']>[0]) => void (await sql.raw(statement).execute(db))
  return { ...Object.fromEntries(known), [LATER]: { up, toleratedBy, locks } }
}

async function openWorld(t: TestContext) {
  const { settings, drop } = await createTestDatabase()
  t.after(drop)
  const open = (): Database => {
    const database = openDatabase(settings, { onIdleError: () => {} })
    t.after(database.close)
    return database.db
  }
  return { settings, open, db: open() }
}

async function watch(t: TestContext, world: Awaited<ReturnType<typeof openWorld>>, release: string) {
  const listener = await openListener(world.settings, { onError: () => {} })
  t.after(() => listener.close())
  const changes: (string | null)[] = []
  const onChange = (problem: string | null) => void changes.push(problem)
  const schema = await watchSchema({ db: world.db, listener, onChange, onError: assert.fail, release })
  t.after(() => schema.close())
  return { schema, changes }
}

describe('a migration while processes of an older release work', () => {
  test('gives up its locks for transactions that take them in another order, and gets them later', async (t) => {
    const world = await openWorld(t)
    await sql`create table one (n int)`.execute(world.db)
    await sql`create table two (n int)`.execute(world.db)
    const migrations = await withLater('0.2.0', 'alter table one add column more int', ['one', 'two'])
    const working = world.db.transaction().execute(async (trx) => {
      await sql`insert into two values (1)`.execute(trx)
      const migrating = migrate(world.open(), { migrations, release: '0.3.0' })
      // Longer than deadlocks take to be detected.
      for (let n = 0; n < 60; n += 1) {
        await sql`insert into one values (${n}::int)`.execute(trx)
        await delay(20)
      }
      return { migrating }
    })
    await (await working).migrating
    const { rows } = await sql`select more from one`.execute(world.open())
    assert.equal(rows.length, 60)
  })

  test('that gets no locks says which, and is not started over', async (t) => {
    const world = await openWorld(t)
    await sql`create table one (n int)`.execute(world.db)
    await sql`create table two (n int)`.execute(world.db)
    await world.db.transaction().execute(async (trx) => {
      await sql`insert into two values (1)`.execute(trx)
      const locking = world
        .open()
        .transaction()
        .execute((other) => lockTables(other, ['one', 'two'], () => {}, 300))
      await assert.rejects(locking, (error: Error & { code?: string }) => {
        assert.match(error.message, /^No locks on one, two after 0\.3 s: .*"two"/)
        return error.code === undefined
      })
    })
  })

  test('leaves no connection with statements that no longer fit', async (t) => {
    const world = await openWorld(t)
    await sql`create table one (n int)`.execute(world.db)
    const read = () => sql`select * from one where n is distinct from ${1}::int`.execute(world.db)
    await read()
    const migrations = await withLater('0.2.0', 'alter table one add column more int', ['one'])
    await migrate(world.open(), { migrations, release: '0.3.0' })
    await endIdleConnections(world.open(), 0)
    await until('the pool has a new one', 10_000, () =>
      read().catch((error) => {
        assert.doesNotMatch(error.message, /cached plan/)
        return false as const
      }),
    )
    await sql`alter table one add column again int`.execute(world.open())
    await assert.rejects(read(), isOutage)
    await read()
  })

  test('that they tolerate leaves them working, and they may be started again', async (t) => {
    const world = await openWorld(t)
    const { schema, changes } = await watch(t, world, '0.2.0')
    const migrations = await withLater('0.2.0', 'create table later ()')
    await migrate(world.open(), { migrations, release: '0.3.0' })
    await migrate(world.open(), { release: '0.2.0' })
    assert.equal(schema.problem(), null)
    assert.deepEqual(changes, [])
  })

  test('that they do not tolerate stops them before it begins', async (t) => {
    const world = await openWorld(t)
    const { schema, changes } = await watch(t, world, '0.2.0')
    const migrations = await withLater(
      '0.3.0',
      'create table later as select clock_timestamp() as migrated_at',
    )
    const migrating = migrate(world.open(), { migrations, release: '0.3.0' })
    await until('it knows', 10_000, () => schema.problem() !== null)
    const { rows } = await sql`select from pg_tables where tablename = 'later'`.execute(world.db)
    assert.equal(rows.length, 0)
    await migrating
    assert.equal(changes.length, 1)
    assert.match(
      schema.problem()!,
      /newer Gantry than this one \(0\.2\.0\)\. .* Start Gantry 0\.3\.0 or later/,
    )
    await assert.rejects(migrate(world.open(), { release: '0.2.0' }), /It has the migration 9001-later\./)
  })

  test('waits for a lock only briefly, so that nobody waits behind it, and tries again', async (t) => {
    const world = await openWorld(t)
    const migrations = await withLater('0.2.0', 'alter table users add column later text')
    const said: string[] = []
    const reader = world.open()
    let migrating: Promise<void> | undefined
    await reader.transaction().execute(async (trx) => {
      await sql`select from users`.execute(trx)
      migrating = migrate(world.open(), { migrations, print: (message) => said.push(message) })
      await until('it gave up', 20_000, () => said.length > 0)
      // The lock that it gave up does not stand in the way of others.
      await sql`select from users`.execute(world.db)
    })
    await migrating
    assert.match(said[0]!, /^Migration 9001-later failed: .*lock timeout; trying again$/)
    await sql`select later from users`.execute(world.open())
  })

  test('takes as long as it needs, whatever limits requests have', async (t) => {
    const world = await openWorld(t)
    await sql`alter database ${sql.ref((world.settings as { database: string }).database)} set statement_timeout = 100`.execute(
      world.db,
    )
    const migrations = await withLater(
      '0.2.0',
      `select set_config('statement_timeout', current_setting('statement_timeout'), true),
        assert_unlimited from (select 1 / (current_setting('statement_timeout') = '0')::int
        * (1 / (current_setting('transaction_timeout') = '0')::int) as assert_unlimited) as limits`,
    )
    await migrate(world.open(), { migrations })
  })
})
