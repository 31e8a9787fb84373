import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { createTestDatabase } from '#test/support/database.ts'
import { until } from '#test/support/until.ts'
import { openDatabase } from './connect.ts'
import { createLockReport } from './lock-waits.ts'

const { settings, drop } = await createTestDatabase()
const asking = openDatabase(settings, { max: 1, onIdleError: () => {} })
const logged: { held_by: Record<string, unknown>[] }[] = []
const waiting = openDatabase(settings, {
  onIdleError: () => {},
  onWait: createLockReport(
    asking.db,
    { warn: (fields) => void logged.push(fields as (typeof logged)[0]) },
    assert.ifError,
  ),
})
after(async () => {
  await waiting.close()
  await asking.close()
  await drop()
})

test('statements that wait for a lock for two seconds log who holds it, once', async () => {
  const person = new pg.Client({ ...settings, application_name: 'psql' })
  person.on('error', () => {})
  await person.connect()
  await person.query('begin')
  await person.query('select pg_advisory_xact_lock(1)')
  const waits = [1, 2].map(() => sql`select pg_advisory_xact_lock(1)`.execute(waiting.db))
  await until('both have asked', 10_000, () => logged.length > 0)
  await person.query('rollback')
  await Promise.all(waits)
  assert.equal(logged.length, 1)
  const { pid, application, state, is_waiting } = logged[0]!.held_by[0]!
  const { rows } = await person.query('select pg_backend_pid() as pid')
  await person.end()
  assert.deepEqual(
    { pid, application, state, is_waiting },
    {
      pid: rows[0].pid,
      application: 'psql',
      state: 'idle in transaction',
      is_waiting: false,
    },
  )
})

test('a statement that takes long for another reason logs nothing', async () => {
  logged.length = 0
  await sql`select pg_sleep(2.3)`.execute(waiting.db)
  // What was asked when it had taken two seconds is answered by now: it came first.
  await sql`select 1`.execute(asking.db)
  assert.deepEqual(logged, [])
})
