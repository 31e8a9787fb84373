import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { untilLockWait } from '#test/support/until.ts'
import { type Database, openDatabase } from './connect.ts'
import { isOutage } from './outages.ts'
import { SLOW_MS } from './share-connections.ts'

const { settings, drop } = await createTestDatabase()
const { db, pipelined, poolState, pool, close } = openDatabase(settings, { max: 4, onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})

const PID = sql<{ pid: number }>`select pg_backend_pid() as pid`
const pidOf = async (on: Database, statement: RawBuilder<{ pid: number }> = PID) =>
  (await statement.execute(on)).rows[0]!.pid

// Opening connections takes longer than a turn.
await Promise.all(Array.from({ length: 4 }, () => pidOf(db)))

/** Holds a lock until it is released. */
async function lock(key: number) {
  const client = await pool.connect()
  await client.query('select pg_advisory_lock($1)', [key])
  return async () => {
    await client.query('select pg_advisory_unlock($1)', [key])
    client.release()
  }
}

/** The pool has handed out its connection, and the statement is on its way. */
const isSent = () => new Promise(setImmediate)

const behind = (key: number) =>
  sql<{ pid: number }>`select pg_backend_pid() as pid from (select pg_advisory_xact_lock(${key})) as locked`

describe('statements that follow each other closely', () => {
  test('share a connection, two at a time', async () => {
    const unlock = await lock(1)
    const first = pidOf(pipelined, behind(1))
    await isSent()
    const second = pidOf(pipelined)
    const third = pidOf(pipelined)
    await third
    await unlock()
    assert.equal(await first, await second)
    assert.notEqual(await first, await third)
  })

  test('are answered each with its own rows, in any number', async () => {
    const read = (n: number) => sql<{ n: number }>`select ${n}::int as n`.execute(pipelined)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => read(n)))
    assert.deepEqual(
      answers.map(({ rows }) => rows[0]!.n),
      Array.from({ length: 50 }, (_, n) => n),
    )
  })

  test('do not fail with each other', async () => {
    const failing = sql`select 1 / ${0}::int`.execute(pipelined)
    const failed = failing.catch((error) => error)
    await isSent()
    const storing = pidOf(pipelined)
    assert.match(String(await failed), /division by zero/)
    assert.ok((await storing) > 0)
  })

  test('leave the connection as it was, for those who use it alone', async () => {
    const first = pidOf(pipelined)
    await isSent()
    assert.equal(await pidOf(pipelined), await first)
    assert.equal(poolState().idle, poolState().open)
    const client = await pool.connect()
    assert.equal(client.pipeline, false)
    client.release()
  })
})

test('nothing queues behind a statement that is slow', async () => {
  const unlock = await lock(2)
  const slow = pidOf(pipelined, behind(2))
  await untilLockWait(db)
  const begun = performance.now()
  while (performance.now() - begun < SLOW_MS) await new Promise(setImmediate)
  const next = await pidOf(pipelined)
  await unlock()
  assert.notEqual(next, await slow)
})

test('a shared connection that is lost fails both statements, and the next ones work', async () => {
  const unlock = await lock(3)
  const first = pidOf(pipelined, behind(3))
  await isSent()
  const results = Promise.allSettled([first, pidOf(pipelined)])
  await untilLockWait(db)
  await sql`
    select pg_terminate_backend(pid) from pg_locks where locktype = 'advisory' and not granted`.execute(db)
  for (const result of await results)
    assert.ok(result.status === 'rejected' && isOutage(result.reason), JSON.stringify(result))
  await unlock()
  assert.ok((await pidOf(pipelined)) > 0)
})

test('a transaction is refused: it would include statements of others', async () => {
  await assert.rejects(
    pipelined.transaction().execute((trx) => pidOf(trx)),
    /cannot hold a transaction/,
  )
  assert.ok((await pidOf(pipelined)) > 0)
})
