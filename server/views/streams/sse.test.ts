import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withHeartbeats } from './sse.ts'

const never = new AbortController().signal
const options = { heartbeatMs: 1, heartbeat: () => 'alive', signal: never }

test('the source is passed through, and the stream ends with it', async () => {
  async function* source() {
    yield 'one'
    yield 'two'
  }
  assert.deepEqual(await Array.fromAsync(withHeartbeats(source(), { ...options, heartbeatMs: 60_000 })), [
    'one',
    'two',
  ])
})

test('a quiet source gets heartbeats, and nothing of it is lost', async () => {
  const go = Promise.withResolvers<void>()
  async function* source() {
    await go.promise
    yield 'late'
  }
  const received: string[] = []
  for await (const text of withHeartbeats(source(), options)) {
    received.push(text)
    if (received.length === 3) go.resolve()
  }
  assert.deepEqual(received.slice(0, 3), ['alive', 'alive', 'alive'])
  assert.equal(received.filter((text) => text === 'late').length, 1)
})

test('an abort ends the stream at once, even while the source waits, and ends the source', async () => {
  const controller = new AbortController()
  const stuck = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  async function* source() {
    try {
      yield 'one'
      await stuck.promise
      yield 'never'
    } finally {
      ended.resolve()
    }
  }
  const stream = withHeartbeats(source(), { ...options, heartbeatMs: 60_000, signal: controller.signal })
  assert.deepEqual(await stream.next(), { value: 'one', done: false })
  const next = stream.next()
  controller.abort()
  assert.equal((await next).done, true)
  stuck.resolve()
  await ended.promise
})

test('an error of the source fails the stream', async () => {
  // biome-ignore lint/correctness/useYield: throws first
  async function* source(): AsyncGenerator<string> {
    throw new Error('broken')
  }
  await assert.rejects(withHeartbeats(source(), options).next(), /broken/)
})
