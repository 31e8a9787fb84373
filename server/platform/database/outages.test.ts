import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { openDatabase } from './connect.ts'
import { createOutageRetrier, isOutage, isStaleStatement, retryOutage } from './outages.ts'

const { settings, drop } = await createTestDatabase()
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail('no error'),
    (error: Error) => error,
  )
const withCode = (code: string) => Object.assign(new Error('some text'), { code })

describe('an outage', () => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOENT',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EMFILE',
    'ENFILE',
    '25006',
    '40P01',
    '55P03',
    '53100',
    '53300',
    '57P01',
    '57P03',
    '25P04',
    '57014',
    '08006',
    '08P01',
  ]) {
    test(`by code ${code}`, () => assert.ok(isOutage(withCode(code))))
  }

  for (const message of [
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'Query read timeout',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'the database system is shutting down',
  ]) {
    test(`by the message "${message}"`, () => assert.ok(isOutage(new Error(message))))
  }

  test('by a statement that no longer fits the schema, in whatever language the server says so', async () => {
    const stale = await db.connection().execute(async (one) => {
      await sql`create table changing (n int)`.execute(db)
      const read = () => sql`select * from changing where n is distinct from ${1}::int`.execute(one)
      await read()
      await sql`alter table changing add column more int`.execute(db)
      return errorOf(read())
    })
    stale.message = 'gecachter Plan darf den Ergebnistyp nicht ändern'
    assert.ok(isOutage(stale))
    assert.ok(isStaleStatement(stale))
    assert.ok(!isOutage(withCode('0A000')))
  })

  test('as the cause of another error, or one of several', () => {
    assert.ok(isOutage(new Error('The migration failed', { cause: withCode('57P01') })))
    assert.ok(isOutage(new AggregateError([new Error('no'), withCode('ECONNREFUSED')])))
  })

  test('when its socket does not exist', async () => {
    const gone = openDatabase({ ...settings, host: '/nowhere' }, { onIdleError: () => {} })
    assert.ok(isOutage(await errorOf(sql`select 1`.execute(gone.db))))
    await gone.close()
  })

  test('when the server ends the connection in the middle of a statement', async () => {
    assert.ok(isOutage(await errorOf(sql`select pg_terminate_backend(pg_backend_pid())`.execute(db))))
  })

  test('when a statement exceeds its timeout', async () => {
    const work = db.transaction().execute(async (trx) => {
      await sql`set local statement_timeout = 1`.execute(trx)
      await sql`select pg_sleep(10)`.execute(trx)
    })
    assert.ok(isOutage(await errorOf(work)))
  })
})

describe('no outage', () => {
  test('when a statement is invalid', async () => {
    for (const statement of [
      'select nothing',
      'selec',
      'select 1/0',
      "insert into users (name) values ('x')",
    ]) {
      assert.ok(!isOutage(await errorOf(sql.raw(statement).execute(db))), statement)
    }
  })

  test('when something else failed, or nothing', () => {
    for (const error of [
      new Error('timeouts are hard'),
      new TypeError('x is not a function'),
      withCode('23505'),
      'ECONNREFUSED',
      null,
      undefined,
    ]) {
      assert.ok(!isOutage(error), String(error))
    }
  })
})

describe('retrying', () => {
  const never = new AbortController().signal
  /** Fails with each error in turn, then succeeds. */
  const failingWith = (...errors: Error[]) => {
    const calls = { count: 0 }
    const work = async () => {
      calls.count += 1
      const error = errors.shift()
      if (error) throw error
      return 'stored'
    }
    return { work, calls }
  }

  test('outlasts an outage', async () => {
    const { work, calls } = failingWith(withCode('57P01'), withCode('ECONNREFUSED'))
    assert.equal(await retryOutage(work, never, { firstDelayMs: 1 }), 'stored')
    assert.equal(calls.count, 3)
  })

  test('throws any other error at once, also after an outage', async () => {
    const violation = withCode('23505')
    const first = failingWith(violation)
    await assert.rejects(retryOutage(first.work, never), violation)
    assert.equal(first.calls.count, 1)
    const second = failingWith(withCode('57P01'), violation)
    await assert.rejects(retryOutage(second.work, never, { firstDelayMs: 1 }), violation)
    assert.equal(second.calls.count, 2)
  })

  test('stops when its signal aborts', async () => {
    const stop = new AbortController()
    const { work } = failingWith(withCode('57P01'), withCode('57P01'))
    const onOutage = () => stop.abort()
    await assert.rejects(retryOutage(work, stop.signal, { firstDelayMs: 60_000, onOutage }), {
      name: 'AbortError',
    })
  })

  test('logs an outage once and its end once, however many operations it interrupts', async () => {
    const lines: string[] = []
    const write = (_: object, message: string) => lines.push(message)
    const retry = createOutageRetrier({ info: write, error: write }, { firstDelayMs: 1 })
    const retries = ['one', 'two', 'three'].map((operation) =>
      retry(operation, failingWith(withCode('57P01'), withCode('57P01')).work, never),
    )
    await Promise.all(retries)
    assert.deepEqual(lines, ['database unreachable; retrying', 'database available again'])
  })

  test('an operation that fails after the outage does not keep the outage open', async () => {
    const lines: string[] = []
    const write = (_: object, message: string) => lines.push(message)
    const retry = createOutageRetrier({ info: write, error: write }, { firstDelayMs: 1 })
    const violation = withCode('23505')
    await assert.rejects(retry('write', failingWith(withCode('57P01'), violation).work, never), violation)
    assert.deepEqual(lines, ['database unreachable; retrying', 'database available again'])
  })
})
