import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type RawBuilder, sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { openOwnPostgres } from '#test/support/own-postgres.ts'
import { startSilentProxy } from '#test/support/silent-proxy.ts'
import { until, untilLockWait } from '#test/support/until.ts'
import { commitOutcomeUnknown, withQueryTimeout } from './client.ts'
import { type ConnectionSettings, type Database, openDatabase } from './connect.ts'
import { isOutage } from './outages.ts'
import type { SessionSettings } from './session.ts'

const { settings, drop } = await createTestDatabase()
const { db, pool, close } = openDatabase(settings, { onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})
await sql`create table notes (text text)`.execute(db)

type Closer = { after(fn: () => Promise<void>): void }

const PID = sql<{ pid: number }>`select pg_backend_pid() as pid`
const pidOf = async (on: Database, statement: RawBuilder<{ pid: number }> = PID) =>
  (await statement.execute(on)).rows[0]!.pid

/** Waits for the lock. */
const behind = (key: number) =>
  sql<{ pid: number }>`select pg_backend_pid() as pid from (select pg_advisory_xact_lock(${key})) as locked`
const insert = (text: string) => sql`insert into notes values (${text})`

/** Connections that statements share, where these statements are prepared already. */
async function open(
  t: Closer,
  more: { target?: ConnectionSettings; withinMs?: number; session?: SessionSettings } = {},
) {
  const { db: shared, close } = openDatabase(more.target ?? settings, {
    max: 3,
    pipelineWithinMs: more.withinMs ?? 60_000,
    session: more.session,
    onIdleError: () => {},
  })
  t.after(close)
  for (const statement of [behind(0), PID, insert('first')]) await statement.execute(shared)
  return shared
}

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

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail('no error'),
    (error: Error) => error,
  )

describe('statements that follow each other closely', () => {
  test('share a connection, two at a time', async (t) => {
    const shared = await open(t)
    const unlock = await lock(1)
    const first = pidOf(shared, behind(1))
    await isSent()
    const second = pidOf(shared)
    const third = pidOf(shared)
    await third
    await unlock()
    assert.equal(await first, await second)
    assert.notEqual(await first, await third)
  })

  test('are answered each with its own rows, in any number', async (t) => {
    const shared = await open(t)
    const read = (n: number) => sql<{ n: number }>`select ${n}::int as n`.execute(shared)
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => read(n)))
    assert.deepEqual(
      answers.map(({ rows }) => rows[0]!.n),
      Array.from({ length: 50 }, (_, n) => n),
    )
  })

  test('do not fail with each other', async (t) => {
    const shared = await open(t)
    const divide = (n: number) => sql`select 1 / ${n}::int`.execute(shared)
    await divide(1)
    const failed = errorOf(divide(0))
    await isSent()
    const second = pidOf(shared)
    assert.match((await failed).message, /division by zero/)
    assert.ok((await second) > 0)
  })

  test('use the same connection afterward', async (t) => {
    const shared = await open(t)
    const first = pidOf(shared)
    await isSent()
    assert.equal(await pidOf(shared), await first)
    assert.equal(await pidOf(shared), await first)
  })
})

describe('nothing is sent behind a statement', () => {
  test('that is slow', async (t) => {
    const withinMs = 20
    const shared = await open(t, { withinMs })
    const unlock = await lock(2)
    const slow = pidOf(shared, behind(2))
    await untilLockWait(db)
    const begun = performance.now()
    await until('it is slow', 5_000, () => performance.now() - begun > withinMs)
    const next = await pidOf(shared)
    await unlock()
    assert.notEqual(next, await slow)
  })

  test('that is being prepared: without it, the same statement would be unknown', async (t) => {
    const shared = await open(t, { session: { lock_timeout: '1s' } })
    const add = (text: string) =>
      errorOf(sql`insert into notes select ${text} from notes limit 0`.execute(shared))
    const table = await pool.connect()
    await table.query('begin; lock table notes')
    const errors = [add('one')]
    await isSent()
    errors.push(add('two'))
    for (const error of await Promise.all(errors)) assert.match(error.message, /lock timeout/)
    await table.query('commit')
    table.release()
  })

  test('on a connection whose server takes no writes any more', async (t) => {
    const shared = await open(t)
    const unlock = await lock(3)
    await sql`set default_transaction_read_only = on`.execute(shared)
    const failed = errorOf(insert('too late').execute(shared))
    await isSent()
    const second = pidOf(shared, behind(3))
    assert.ok(isOutage(await failed))
    const third = await pidOf(shared)
    await unlock()
    assert.notEqual(third, await second)
    await insert('elsewhere').execute(shared)
  })

  test('whose commit waits for a standby: on another connection it waits at the same time', async (t) => {
    const own = await openOwnPostgres(t)
    await own.start({ synchronous_standby_names: 'nobody', synchronous_commit: 'local' })
    await own.query('create table notes (text text)')
    const target = { host: '127.0.0.1', port: own.port, user: 'gantry', database: 'postgres', ssl: false }
    const shared = await open(t, { target })
    const slow = sql<{ pid: number }>`select pg_backend_pid() as pid from (select pg_sleep(0.2)) as slept`
    await slow.execute(shared)
    const first = pidOf(shared, slow)
    await isSent()
    const second = pidOf(shared)
    assert.notEqual(await first, await second)
  })
})

test('a shared connection that is lost fails both statements, and the next ones work', async (t) => {
  const shared = await open(t)
  const unlock = await lock(4)
  const results = [errorOf(pidOf(shared, behind(4)))]
  await isSent()
  results.push(errorOf(insert('lost').execute(shared)))
  await untilLockWait(db)
  await sql`
    select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  const [first, second] = await Promise.all(results)
  assert.ok(isOutage(first) && isOutage(second))
  assert.equal(commitOutcomeUnknown(first), undefined, 'a read')
  assert.notEqual(commitOutcomeUnknown(second), undefined, 'it is not known whether it was stored')
  await unlock()
  assert.ok((await pidOf(shared)) > 0)
})

test('a shared connection that went silent is reset, so that nothing of it arrives later', async (t) => {
  const proxy = await startSilentProxy(t, settings)
  const shared = await open(t, { target: { ...settings, host: '127.0.0.1', port: proxy.port } })
  proxy.loseAnswers()
  const errors = [errorOf(withQueryTimeout(200, () => insert('unheard').execute(shared)))]
  await isSent()
  errors.push(errorOf(insert('behind it').execute(shared)))
  for (const error of await Promise.all(errors)) assert.notEqual(commitOutcomeUnknown(error), undefined)
  await until('the connection is reset', 5_000, () => proxy.resets() === 1)
  assert.ok((await pidOf(shared)) > 0)
})

test('a transaction is refused: it would include statements of others', async (t) => {
  const shared = await open(t)
  await assert.rejects(
    shared.transaction().execute((trx) => pidOf(trx)),
    /cannot hold a transaction/,
  )
  assert.ok((await pidOf(shared)) > 0)
})
