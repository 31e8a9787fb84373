import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { createPerson } from '#test/support/world.ts'
import { openDatabase } from './connect.ts'
import { isDatabaseAway, isUniqueViolation } from './faults.ts'

const { settings, drop } = await createTestDatabase()
const { db, close } = openDatabase(settings, { onIdleError: () => {} })
after(async () => {
  await close()
  await drop()
})

const faultOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail('it worked'),
    (error: Error) => error,
  )
const withCode = (code: string) => Object.assign(new Error('some text'), { code })

describe('the database is away', () => {
  for (const code of [
    'ECONNREFUSED',
    'ECONNRESET',
    'ENOENT',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    '53100',
    '53300',
    '57P01',
    '57P03',
    '25P04',
    '57014',
    '08006',
    '08P01',
  ]) {
    test(`by code ${code}`, () => assert.ok(isDatabaseAway(withCode(code))))
  }

  for (const message of [
    'Connection terminated unexpectedly',
    'Connection terminated due to connection timeout',
    'timeout exceeded when trying to connect',
    'Client has encountered a connection error and is not queryable',
    'the database system is shutting down',
  ]) {
    test(`by the words "${message}"`, () => assert.ok(isDatabaseAway(new Error(message))))
  }

  test('when that is the cause of another error, or one of several', () => {
    assert.ok(isDatabaseAway(new Error('The migration failed', { cause: withCode('57P01') })))
    assert.ok(isDatabaseAway(new AggregateError([new Error('no'), withCode('ECONNREFUSED')])))
  })

  test('when its socket is not there', async () => {
    const gone = openDatabase({ ...settings, host: '/nowhere' }, { onIdleError: () => {} })
    assert.ok(isDatabaseAway(await faultOf(sql`select 1`.execute(gone.db))))
    await gone.close()
  })

  test('when it ends the connection in the middle of a statement', async () => {
    assert.ok(isDatabaseAway(await faultOf(sql`select pg_terminate_backend(pg_backend_pid())`.execute(db))))
  })

  test('when a statement takes longer than it may', async () => {
    const work = db.transaction().execute(async (trx) => {
      await sql`set local statement_timeout = 1`.execute(trx)
      await sql`select pg_sleep(10)`.execute(trx)
    })
    assert.ok(isDatabaseAway(await faultOf(work)))
  })
})

describe('the database is not away', () => {
  test('when a statement is wrong', async () => {
    for (const statement of [
      'select nothing',
      'selec',
      'select 1/0',
      "insert into users (name) values ('x')",
    ]) {
      assert.ok(!isDatabaseAway(await faultOf(sql.raw(statement).execute(db))), statement)
    }
  })

  test('when something else went wrong, or nothing', () => {
    for (const error of [
      new Error('timeouts are hard'),
      new TypeError('x is not a function'),
      withCode('23505'),
      'ECONNREFUSED',
      null,
      undefined,
    ]) {
      assert.ok(!isDatabaseAway(error), String(error))
    }
  })
})

describe('a unique violation', () => {
  test('is known, also by the name of what is violated', async () => {
    const { email } = await createPerson(db)
    const again = { name: 'x', email: email.toUpperCase(), url_slug: 'x' }
    const error = await faultOf(db.insertInto('users').values(again).execute())
    assert.ok(isUniqueViolation(error))
    assert.ok(isUniqueViolation(error, 'users_email'))
    assert.ok(!isUniqueViolation(error, 'users_url_slug_key'))
  })

  test('is not every violation', async () => {
    const error = await faultOf(
      db.insertInto('users').values({ name: '', email: 'a@b', url_slug: 'y' }).execute(),
    )
    assert.ok(!isUniqueViolation(error))
  })
})
