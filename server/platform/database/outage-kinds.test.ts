import assert from 'node:assert/strict'
import { once } from 'node:events'
import { statfs } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { after, describe, test } from 'node:test'
import { sql } from 'kysely'
import { createTestDatabase } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { openDatabase } from './connect.ts'
import { createDiskWatch, probeWrite } from './disk-full.ts'
import { createDatabaseFailures } from './failures.ts'
import { OUTAGE_KINDS, OUTAGES, outageKind } from './outage-kinds.ts'
import { isOutage } from './outages.ts'

const { settings, drop } = await createTestDatabase()
const lines: { kind: string; code: string; message: string }[] = []
let now = 0
const failures = createDatabaseFailures(
  { error: (fields, message) => lines.push({ ...(fields as { kind: string; code: string }), message }) },
  () => now,
)
const watched = { ...settings, onError: failures.record }
const { db, close } = openDatabase(watched, { max: 2, onIdleError: () => {} })
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

describe('the kind of a failure', () => {
  const CODES = {
    lock_wait: ['55P03', '40P01'],
    disk_full: ['53100'],
    read_only: ['25006'],
    unresponsive: ['57014', '25P04'],
    unreachable: ['ECONNREFUSED', 'ENOENT', '57P01', '57P02', '57P03', '08006', '53300', 'EMFILE'],
  }
  for (const [kind, codes] of Object.entries(CODES))
    test(`is ${kind} by its code`, () => {
      for (const code of codes) assert.equal(outageKind(withCode(code)), kind, code)
    })

  test('is that of its cause, or of one of several errors', () => {
    assert.equal(outageKind(new Error('The migration failed', { cause: withCode('53100') })), 'disk_full')
    assert.equal(outageKind(new AggregateError([new Error('no'), withCode('ECONNREFUSED')])), 'unreachable')
  })

  test('is unknown for errors that say nothing about the database', async () => {
    for (const error of [withCode('23505'), new Error('x'), 'ECONNREFUSED', null, withCode('25P03')])
      assert.equal(outageKind(error), null)
    // A folder that is missing is no database that does not answer.
    const missing = await errorOf(statfs('/nowhere/at/all'))
    assert.equal(outageKind(missing), null)
    assert.equal(isOutage(missing), false)
  })

  test('is unreachable without a server, and unresponsive when one accepts a connection and says nothing', async (t) => {
    const refused = openDatabase({ host: '127.0.0.1', port: 1 }, { onIdleError: () => {} })
    assert.equal(outageKind(await errorOf(sql`select 1`.execute(refused.db))), 'unreachable')
    await refused.close()
    const gone = openDatabase({ ...settings, host: '/nowhere' }, { onIdleError: () => {} })
    assert.equal(outageKind(await errorOf(sql`select 1`.execute(gone.db))), 'unreachable')
    await gone.close()

    const sockets = new Set<Socket>()
    const silent = createServer((socket) => sockets.add(socket.on('error', () => {})))
    silent.listen(0, '127.0.0.1')
    await once(silent, 'listening')
    later(t, async () => {
      for (const socket of sockets) socket.destroy()
      silent.close()
    })
    const { port } = silent.address() as AddressInfo
    const stuck = openDatabase({ host: '127.0.0.1', port }, { max: 1, onIdleError: () => {} })
    // The second one waits for the connection that the first one tries to open.
    const both = [sql`select 1`.execute(stuck.db), sql`select 1`.execute(stuck.db)].map(errorOf)
    for (const error of await Promise.all(both))
      assert.equal(outageKind(error), 'unresponsive', error.message)
    await stuck.close()
  })

  test('is unreachable when the server does not even accept the connection', async () => {
    // As when a firewall drops everything: the pool gives the connection up.
    const dropped = new Error('Connection terminated due to connection timeout', {
      cause: withCode('ETIMEDOUT'),
    })
    assert.equal(outageKind(dropped), 'unreachable')
  })

  test('is an exhausted pool when all connections are in use, and unresponsive when a statement takes too long', async () => {
    const held = await Promise.all([db.startTransaction().execute(), db.startTransaction().execute()])
    assert.equal(outageKind(await errorOf(sql`select 1`.execute(db))), 'pool_exhausted')
    const slow = async () => {
      await sql`set local statement_timeout = 1`.execute(held[0]!)
      await sql`select pg_sleep(10)`.execute(held[0]!)
    }
    assert.equal(outageKind(await errorOf(slow())), 'unresponsive')
    for (const one of held) await one.rollback().execute()
  })

  test('has a log line with a remedy of its own', () => {
    for (const part of ['event', 'sentence', 'remedy'] as const)
      assert.equal(new Set(OUTAGE_KINDS.map((kind) => OUTAGES[kind][part])).size, OUTAGE_KINDS.length)
  })
})

describe('failures of a process', () => {
  test('are counted and logged by kind, with the SQLSTATE, and once a minute', async () => {
    const before = { ...failures.counts() }
    lines.length = 0
    now += 120_000
    const violate = () => errorOf(sql`select 1/0`.execute(db))
    const wait = () =>
      errorOf(
        db.transaction().execute(async (trx) => {
          await sql`set local default_transaction_read_only = on`.execute(trx)
          await sql`do $$ begin raise sqlstate '55P03'; end $$`.execute(trx)
        }),
      )
    await violate()
    await wait()
    await wait()
    assert.deepEqual(failures.counts(), { ...before, lock_wait: before.lock_wait + 2 })
    assert.deepEqual(
      lines.map(({ kind, code }) => [kind, code]),
      [['lock_wait', '55P03']],
    )
    assert.match(lines[0]!.message, /^database lock not granted in time; end the transaction/)
    now += 60_000
    await wait()
    assert.equal(lines.length, 2)
  })
})

describe('a full disk', () => {
  test('is reported from the first write that fails until a probe succeeds, and the probe leaves nothing behind', async () => {
    const disk = createDiskWatch(db, failures)
    assert.equal(await disk.isDiskFull(), false)
    const fill = sql`do $$ begin raise sqlstate '53100'; end $$`
    await errorOf(fill.execute(db))
    // It is not full in truth: the probe succeeds.
    const [first, second] = await Promise.all([disk.isDiskFull(), disk.isDiskFull()])
    assert.deepEqual([first, second, await disk.isDiskFull()], [false, false, false])
    const { rows } = await sql`select from pg_class where relname = 'gantry_disk_probe'`.execute(db)
    assert.equal(rows.length, 0)
  })

  test('stays reported while the probe fails', async () => {
    const broken = openDatabase({ host: '127.0.0.1', port: 1 }, { onIdleError: () => {} })
    const disk = createDiskWatch(broken.db, { counts: () => ({ ...failures.counts(), disk_full: 99 }) })
    assert.equal(await disk.isDiskFull(), true)
    await assert.rejects(probeWrite(broken.db))
    await broken.close()
  })
})
