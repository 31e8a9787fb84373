import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { createTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/until.ts'
import { isoFromPostgres, openDatabase } from './connect.ts'

const { settings, drop } = await createTestDatabase()
after(drop)

describe('a timestamp', () => {
  const forms: Record<string, string> = {
    '2026-11-15 02:06:07.12+00': '2026-11-15T02:06:07.120Z',
    '2026-11-15 02:06:07+00': '2026-11-15T02:06:07.000Z',
    '2026-11-15 02:06:07.1+00': '2026-11-15T02:06:07.100Z',
    '2026-11-15 02:06:07.123+00': '2026-11-15T02:06:07.123Z',
    '2026-11-15 02:06:07.123456+00': '2026-11-15T02:06:07.123Z',
    '0001-01-01 00:00:00+00': '0001-01-01T00:00:00.000Z',
  }
  for (const [text, iso] of Object.entries(forms)) {
    test(`${text} reads ${iso}`, () => assert.equal(isoFromPostgres(text), iso))
  }

  test('is read as it was written, in any time zone', async (t) => {
    const { db } = open(t)
    for (const written of ['2026-11-15T02:06:07.120Z', '2026-07-01T23:59:59.999+05:30']) {
      const { rows } = await sql<{ moment: string }>`select ${written}::timestamptz(3) as moment`.execute(db)
      assert.equal(rows[0]!.moment, new Date(written).toISOString())
    }
  })
})

function open(t: { after(fn: () => Promise<void>): void }, onIdleError: (error: Error) => void = () => {}) {
  const database = openDatabase(settings, { onIdleError, max: 2 })
  t.after(() => database.close())
  return database
}

test('ids are read as numbers, alone and in arrays', async (t) => {
  const { db } = open(t)
  const { rows } = await sql<Record<string, unknown>>`
    select 9007199254740991::bigint as id, count(*) as count, array[1, 2]::bigint[] as ids from (values (1), (2)) as two`.execute(
    db,
  )
  assert.deepEqual(rows, [{ id: 9_007_199_254_740_991, count: 2, ids: [1, 2] }])
})

test('a session uses UTC and has timeouts', async (t) => {
  const { db } = open(t)
  const { rows } =
    await sql`select current_setting('timezone') as zone, current_setting('statement_timeout') as statement,
    coalesce(current_setting('transaction_timeout', true), '1min') as transaction,
    current_setting('idle_in_transaction_session_timeout') as idle, current_setting('lock_timeout') as lock,
    current_setting('application_name') as name`.execute(db)
  assert.deepEqual(rows, [
    { zone: 'UTC', statement: '30s', transaction: '1min', idle: '1min', lock: '5s', name: 'gantry' },
  ])
})

test('a statement with parameters is prepared once per connection', async (t) => {
  const { db } = open(t)
  await db.connection().execute(async (one) => {
    for (const number of [1, 2, 3]) await sql`select ${number}::int as prepared_by_this_test`.execute(one)
    const { rows } = await sql<{ name: string }>`
      select name from pg_prepared_statements where statement like '%$1::int as prepared_by_this_test'`.execute(
      one,
    )
    assert.equal(rows.length, 1)
  })
})

test('an idle connection that the server ends is reported, does not end the process, and is replaced', async (t) => {
  const { promise: reported, resolve } = Promise.withResolvers<Error>()
  const { db } = open(t, resolve)
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  const killer = new pg.Client(settings)
  await killer.connect()
  await killer.query('select pg_terminate_backend($1)', [rows[0]!.pid])
  await killer.end()
  assert.match((await reported).message, /terminat/)
  const again = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  assert.notEqual(again.rows[0]!.pid, rows[0]!.pid)
})

test('a database that was never used can be closed, and closed again', async () => {
  const database = openDatabase(settings, { onIdleError: () => {} })
  await database.close()
  await database.close()
})

test('connections that cannot be opened, and those that are lost, are counted', async (t) => {
  const unreachable = openDatabase({ host: '127.0.0.1', port: 1 }, { onIdleError: () => {} })
  t.after(() => unreachable.close())
  await assert.rejects(sql`select 1`.execute(unreachable.db))
  assert.equal(unreachable.poolState().failures, 1)

  const opened = openDatabase(settings, { max: 1, onIdleError: () => {} })
  t.after(() => opened.close())
  await assert.rejects(sql`select pg_terminate_backend(pg_backend_pid())`.execute(opened.db))
  await until('it is counted', 5_000, () => opened.poolState().failures > 0)
})
