import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import pg from 'pg'
import { createTestDatabase } from '#test/support/database.ts'
import { openListener, type Subscriber } from './listen.ts'

const { settings, drop } = await createTestDatabase()
const sender = new pg.Client(settings)
await sender.connect()
after(async () => {
  await sender.end()
  await drop()
})

type Closer = { after(fn: () => Promise<void>): void }

async function listen(t: Closer, onError: (error: Error) => void = () => {}) {
  const listener = await openListener(settings, { onError, retryMs: 1 })
  t.after(() => listener.close())
  return listener
}

/** Records notifications; tests can wait for the n-th payload or reconnection. */
function createSubscriber() {
  const payloads: string[] = []
  let reconnections = 0
  const waiting: { done: () => boolean; resolve: () => void }[] = []
  const notice = () => {
    for (const one of waiting.filter(({ done }) => done())) one.resolve()
  }
  const until = (done: () => boolean) =>
    new Promise<void>((resolve) => {
      waiting.push({ done, resolve })
      notice()
    })
  const subscriber: Subscriber = {
    onNotify(payload) {
      payloads.push(payload)
      notice()
    },
    onReconnect() {
      reconnections++
      notice()
    },
  }
  return {
    subscriber,
    payloads,
    reconnections: () => reconnections,
    untilPayloads: (count: number) => until(() => payloads.length >= count),
    untilReconnections: (count: number) => until(() => reconnections >= count),
  }
}

const notify = (channel: string, payload: string) =>
  sender.query('select pg_notify($1, $2)', [channel, payload])

async function listenersBackends(): Promise<number[]> {
  const { rows } = await sender.query(
    `select pid from pg_stat_activity where application_name = 'gantry listener' and datname = current_database()`,
  )
  return rows.map((row) => row.pid)
}

async function endListeners(): Promise<void> {
  for (const pid of await listenersBackends())
    await sender.query('select pg_terminate_backend($1, 5000)', [pid])
}

test('a subscriber receives the notifications of its channel, in order, and no others', async (t) => {
  const listener = await listen(t)
  const news = createSubscriber()
  await listener.subscribe('news', news.subscriber)
  await notify('gossip', 'not for us')
  for (const text of ['one', 'two', '']) await notify('news', text)
  await news.untilPayloads(3)
  assert.deepEqual(news.payloads, ['one', 'two', ''])
  assert.equal(news.reconnections(), 0)
})

test('many subscribers share one connection, and each receives everything', async (t) => {
  const listener = await listen(t)
  const all = [createSubscriber(), createSubscriber(), createSubscriber()]
  await listener.subscribe('shared', all[0]!.subscriber)
  await listener.subscribe('shared', all[1]!.subscriber)
  await listener.subscribe('Odd "name"', all[2]!.subscriber)
  await notify('shared', 'x')
  await notify('Odd "name"', 'y')
  await Promise.all(all.map((one) => one.untilPayloads(1)))
  assert.deepEqual(
    all.map((one) => one.payloads),
    [['x'], ['x'], ['y']],
  )
  assert.equal((await listenersBackends()).length, 1)
})

test('a connection that the server ends is reopened, every subscriber is notified, and every channel works again', async (t) => {
  const errors: Error[] = []
  const listener = await listen(t, (error) => errors.push(error))
  const [news, other] = [createSubscriber(), createSubscriber()]
  await listener.subscribe('news', news.subscriber)
  await listener.subscribe('other', other.subscriber)
  for (const round of [1, 2]) {
    const [before] = await listenersBackends()
    await endListeners()
    await Promise.all([news.untilReconnections(round), other.untilReconnections(round)])
    const [now] = await listenersBackends()
    assert.notEqual(now, before)
    await notify('news', `news ${round}`)
    await notify('other', `other ${round}`)
    await Promise.all([news.untilPayloads(round), other.untilPayloads(round)])
  }
  assert.deepEqual(news.payloads, ['news 1', 'news 2'])
  assert.deepEqual(other.payloads, ['other 1', 'other 2'])
  assert.ok(errors.length >= 2, 'each loss was reported')
})

test('a channel subscribed to while disconnected works after the reconnect', async (t) => {
  const listener = await listen(t)
  const first = createSubscriber()
  await listener.subscribe('first', first.subscriber)
  const late = createSubscriber()
  const ended = endListeners()
  await listener.subscribe('late', late.subscriber).catch(() => {})
  await ended
  await first.untilReconnections(1)
  await notify('late', 'heard')
  await late.untilPayloads(1)
  assert.deepEqual(late.payloads, ['heard'])
})

test('an error of the first connection is thrown, and not retried', async () => {
  const errors: Error[] = []
  const nowhere = { ...settings, database: 'nowhere' }
  await assert.rejects(openListener(nowhere, { onError: (error) => errors.push(error), retryMs: 1 }), {
    code: '3D000',
  })
  assert.deepEqual(errors, [])
})

test('a closed listener leaves no connection open and opens no new one', async () => {
  const listener = await openListener(settings, { onError: () => {}, retryMs: 1 })
  await listener.subscribe('news', createSubscriber().subscriber)
  assert.equal((await listenersBackends()).length, 1)
  await listener.close()
  await sender.query(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where application_name = 'gantry listener' and datname = current_database()`)
  assert.deepEqual(await listenersBackends(), [])
})
