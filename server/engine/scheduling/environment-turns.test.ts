import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Database } from '#platform/database/connect.ts'
import { takeTurn } from './environment-turns.ts'

/** Work that takes turns, and runs until `end` or `fail`. */
function createTurns() {
  const db = {} as Database
  const running: string[] = []
  const ends = new Map<string, PromiseWithResolvers<void>>()
  return {
    running,
    begin(name: string, environmentId: number): Promise<void> {
      const end = Promise.withResolvers<void>()
      ends.set(name, end)
      return takeTurn(db, environmentId, () => {
        running.push(name)
        return end.promise.finally(() => running.splice(running.indexOf(name), 1))
      })
    },
    end: (name: string) => ends.get(name)!.resolve(),
    fail: (name: string) => ends.get(name)!.reject(new Error(name)),
  }
}

test('two of an environment run at the same time, and the others follow in their order', async () => {
  const { begin, end, running } = createTurns()
  const done = ['a', 'b', 'c', 'd'].map((name) => begin(name, 1))
  assert.deepEqual(running, ['a', 'b'])
  end('b')
  await done[1]
  assert.deepEqual(running, ['a', 'c'])
  end('a')
  await done[0]
  assert.deepEqual(running, ['c', 'd'])
  end('c')
  end('d')
  await Promise.all(done)
  assert.deepEqual(running, [])
})

test('another environment does not wait for them', async () => {
  const { begin, running } = createTurns()
  for (const name of ['a', 'b', 'c']) void begin(name, 1)
  void begin('other', 2)
  assert.deepEqual(running, ['a', 'b', 'other'])
})

test('one that fails ends its turn, too', async () => {
  const { begin, fail, running } = createTurns()
  const done = ['a', 'b', 'c'].map((name) => begin(name, 1))
  fail('a')
  await assert.rejects(done[0]!, { message: 'a' })
  assert.deepEqual(running, ['b', 'c'])
})
