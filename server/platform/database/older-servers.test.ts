import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { openDatabase } from './connect.ts'
import { UUIDV7 } from './older-servers.ts'

const { settings, drop } = await createTestDatabase()
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})

test('ids for servers before 18 are UUIDs of version 7, in order of time', async () => {
  // Under another name: version 18 prefers its own.
  await sql`create function ours(shift interval) returns uuid language sql as ${sql.lit(UUIDV7)}`.execute(db)
  const { rows } = await sql<{ now: string; past: string; ms: number }>`
    select ours('0')::text as now, ours('-1 day')::text as past,
      extract(epoch from clock_timestamp())::float8 * 1000 as ms`.execute(db)
  const { now, past, ms } = rows[0]!
  const timeOf = (id: string) => Number.parseInt(id.replaceAll('-', '').slice(0, 12), 16)
  for (const id of [now, past])
    assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  assert.ok(Math.abs(timeOf(now) - ms) < 1_000)
  assert.ok(Math.abs(timeOf(past) - (ms - 86_400_000)) < 1_000)
  const many = await sql<{ id: string }>`
    select ours('0')::text as id from generate_series(1, 2000), pg_sleep(0.0001)`.execute(db)
  const times = many.rows.map(({ id }) => id.slice(0, 18))
  assert.deepEqual(times.toSorted(), times, 'the time only grows')
  assert.equal(new Set(many.rows.map(({ id }) => id)).size, 2_000)
})

test('the schema has it, whatever the server', async () => {
  const { rows } = await sql<{ id: string }>`select uuidv7()::text as id, uuidv7(interval '-1 day')`.execute(
    db,
  )
  assert.equal(rows[0]!.id[14], '7')
})
