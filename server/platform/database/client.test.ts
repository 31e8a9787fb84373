import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { administer, createTestDatabase } from '#test/support/database.ts'
import { type SilentProxy, startSilentProxy } from '#test/support/silent-proxy.ts'
import { commitOutcomeUnknown, withQueryTimeout } from './client.ts'
import { openDatabase } from './connect.ts'
import { openListener } from './listen.ts'
import { isOutage } from './outages.ts'

const { settings, drop } = await createTestDatabase()
after(drop)
const name = settings.database!

type Closer = { after(fn: () => Promise<void>): void }

function open(t: Closer, through?: SilentProxy, more: object = {}) {
  const target = through ? { ...settings, host: '127.0.0.1', port: through.port } : settings
  const database = openDatabase({ ...target, ...more }, { onIdleError: () => {}, max: 2 })
  t.after(() => database.close())
  return database
}

const errorOf = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail('no error'),
    (error: Error) => error,
  )

describe('a session', () => {
  test('has our settings, whatever the database, the role or the URL say', async (t) => {
    await administer(`alter database ${name} set timezone = 'America/New_York'`)
    await administer(`alter database ${name} set datestyle = 'German'`)
    await administer(`alter database ${name} set default_transaction_isolation = 'serializable'`)
    t.after(() => administer(`alter database ${name} reset all`))
    const { db } = open(t, undefined, {
      options: '-c timezone=Asia/Tokyo -c statement_timeout=0',
      application_name: 'other',
    })
    const { rows } = await sql`select '2026-11-15T02:06:07.120Z'::timestamptz(3) as moment,
      '2026-11-15'::date::text as day, current_setting('statement_timeout') as statement,
      current_setting('transaction_isolation') as isolation,
      current_setting('application_name') as name`.execute(db)
    assert.deepEqual(rows, [
      {
        moment: '2026-11-15T02:06:07.120Z',
        day: '2026-11-15',
        statement: '30s',
        isolation: 'read committed',
        name: 'gantry',
      },
    ])
  })

  test('on a server that takes no writes is an outage, until it does', async (t) => {
    const { db } = open(t)
    await administer(`alter database ${name} set default_transaction_read_only = on`)
    const error = await errorOf(sql`select 1`.execute(db))
    assert.equal(error.message, 'The database server is read-only.')
    assert.ok(isOutage(error))
    await administer(`alter database ${name} reset default_transaction_read_only`)
    await sql`select 1`.execute(db)
  })

  test('that turns out to be read-only is not kept', async (t) => {
    const { db } = open(t)
    const session = async () => {
      const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
      return rows[0]!.pid
    }
    const first = await session()
    await sql`set default_transaction_read_only = on`.execute(db)
    const failed = db.transaction().execute((trx) => sql`create table things ()`.execute(trx))
    assert.ok(isOutage(await errorOf(failed)))
    assert.notEqual(await session(), first)
    await sql`create table things ()`.execute(db)
  })
})

test('a connection is not kept after a statement that failed without an answer of the server', async (t) => {
  const { db } = open(t)
  const pid = async () =>
    (await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)).rows[0]!.pid
  const unreadable = {
    toPostgres() {
      throw new Error('This value cannot be sent.')
    },
  }
  await sql`create table drafts (text text)`.execute(db)
  const insert = (value: unknown) => sql`insert into drafts values (${value})`.execute(db)
  const select = (value: unknown) => sql`select ${value}::text`.execute(db)
  for (const execute of [insert, select]) {
    await execute('first')
    const before = await pid()
    assert.match((await errorOf(execute(unreadable))).message, /cannot be sent/)
    assert.notEqual(await pid(), before)
    await execute('second')
  }
})

describe('a connection that went silent', () => {
  test('fails its statement in time, as an outage, and the next statement gets another', async (t) => {
    const proxy = await startSilentProxy(t, settings)
    const { db } = open(t, proxy)
    await sql`select 1`.execute(db)
    proxy.silence()
    const began = performance.now()
    const error = await errorOf(withQueryTimeout(200, () => sql`select 1`.execute(db)))
    assert.ok(isOutage(error), error.message)
    assert.ok(performance.now() - began < 2_000)
    await sql`select 1`.execute(db)
  })

  test('leaves open what became of a commit, and of nothing else', async (t) => {
    const proxy = await startSilentProxy(t, settings)
    const { db } = open(t, proxy)
    await sql`create table notes (text text)`.execute(db)
    const lost = async (work: () => Promise<unknown>, before = async () => {}) => {
      await sql`select 1`.execute(db)
      await before()
      return commitOutcomeUnknown(await errorOf(withQueryTimeout(200, work))) !== undefined
    }
    const silence = async () => proxy.loseAnswers()
    const insert = (text: string, on = db) => sql`insert into notes values (${text})`.execute(on)
    assert.equal(await lost(() => sql`select 1`.execute(db), silence), false, 'a read')
    assert.equal(await lost(() => insert('alone'), silence), true, 'a statement of its own')
    const early = () =>
      db.transaction().execute(async (trx) => {
        proxy.loseAnswers()
        await insert('early', trx)
      })
    assert.equal(await lost(early), false, 'within a transaction')
    const late = () =>
      db.transaction().execute(async (trx) => {
        await insert('late', trx)
        proxy.loseAnswers()
      })
    assert.equal(await lost(late), true, 'a commit')
    assert.equal(await lost(() => sql`select 1/0`.execute(db)), false, 'an answer')
    const { rows } = await sql<{ text: string }>`select text from notes order by text`.execute(db)
    assert.deepEqual(
      rows.map(({ text }) => text),
      ['alone', 'late'],
    )
  })

  test('is replaced when it listens, and the subscribers are told', async (t) => {
    const proxy = await startSilentProxy(t, settings)
    const listener = await openListener(
      { ...settings, host: '127.0.0.1', port: proxy.port },
      { onError: () => {}, retryMs: 1, heartbeatMs: 100 },
    )
    t.after(() => listener.close())
    const back = Promise.withResolvers<void>()
    const heard = Promise.withResolvers<string>()
    await listener.subscribe('news', { onNotify: heard.resolve, onReconnect: back.resolve })
    proxy.silence()
    await back.promise
    const { db } = open(t)
    await sql`select pg_notify('news', 'again')`.execute(db)
    assert.equal(await heard.promise, 'again')
  })
})
