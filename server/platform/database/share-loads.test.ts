import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareLoads } from './share-loads.ts'

test('keys that are requested during a load share the next one', async () => {
  const loads: { keys: string[]; finish: () => void }[] = []
  const find = shareLoads<string>((keys) => {
    const { promise, resolve } = Promise.withResolvers<Map<string, string>>()
    loads.push({ keys, finish: () => resolve(new Map(keys.map((key) => [key, key.toUpperCase()]))) })
    return promise
  })
  const turns = async () => {
    for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate)
  }
  const first = ['a', 'b'].map(find)
  await turns()
  const others = ['c', 'd', 'c', 'e'].map(find)
  await turns()
  assert.deepEqual(
    loads.map((load) => load.keys),
    [['a', 'b']],
  )
  loads[0]!.finish()
  assert.deepEqual(await Promise.all(first), ['A', 'B'])
  await turns()
  assert.deepEqual(loads[1]!.keys, ['c', 'd', 'e'])
  const late = find('f')
  loads[1]!.finish()
  assert.deepEqual(await Promise.all(others), ['C', 'D', 'C', 'E'])
  await turns()
  assert.deepEqual(loads[2]!.keys, ['f'])
  loads[2]!.finish()
  assert.equal(await late, 'F')
})

test('a key that is not found is undefined, and a failing load affects only its own keys', async () => {
  const find = shareLoads<number>(async (keys) => {
    if (keys.includes('bad')) throw new Error('no')
    return new Map([['one', 1]])
  })
  await assert.rejects(find('bad'), /no/)
  assert.equal(await find('one'), 1)
  assert.equal(await find('two'), undefined)
})

test('a load has at most a hundred keys, and every request gets its result', async () => {
  let largest = 0
  const find = shareLoads<string>(async (keys) => {
    largest = Math.max(largest, keys.length)
    return new Map(keys.map((key) => [key, key]))
  })
  const keys = Array.from({ length: 450 }, (_, number) => String(number))
  assert.deepEqual(await Promise.all(keys.map(find)), keys)
  assert.ok(largest <= 100)
})
