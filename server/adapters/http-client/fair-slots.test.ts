import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFairSlots } from './fair-slots.ts'

function open(shared: number, most: number) {
  const slots = createFairSlots({ shared, most })
  const started: string[] = []
  const enter = (sharer: string, count = 1, isNeeded = true) => {
    for (let n = 0; n < count; n += 1)
      slots.enter('origin', sharer, () => {
        if (isNeeded) started.push(sharer)
        return isNeeded
      })
  }
  const leave = (sharer: string, count = 1) => {
    for (let n = 0; n < count; n += 1) slots.leave('origin', sharer)
  }
  const count = (sharer: string) => started.filter((one) => one === sharer).length
  return { slots, started, enter, leave, count }
}

test('one sharer leaves a quarter of the slots to others', () => {
  const { enter, count } = open(86, 128)
  enter('a', 500)
  assert.equal(count('a'), 65)
  enter('b', 500)
  assert.equal(count('b'), 16)
  enter('c', 500)
  assert.equal(count('c'), 4)
})

test('one that holds no slot gets one, although all are taken', () => {
  const { enter, count } = open(4, 6)
  for (const sharer of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) enter(sharer, 5)
  assert.deepEqual(['a', 'b', 'c', 'd', 'e', 'f', 'g'].map(count), [3, 1, 1, 1, 0, 0, 0])
})

test('those who wait take turns', () => {
  const { enter, leave, started } = open(4, 4)
  enter('a', 9)
  enter('b', 9)
  started.length = 0
  leave('a', 3)
  leave('b')
  assert.deepEqual(new Set(started), new Set(['a', 'b']))
  assert.ok(started.length <= 4)
})

test('what nobody needs any more takes no slot', () => {
  const { enter, leave, started, count } = open(4, 4)
  enter('a', 3)
  enter('a', 1_000, false)
  enter('a')
  assert.equal(count('a'), 3)
  leave('a')
  assert.deepEqual(started, ['a', 'a', 'a', 'a'])
})

test('origins have slots of their own, and everything starts when it is closed', () => {
  const { slots, enter, started } = open(4, 4)
  enter('a', 9)
  let others = 0
  slots.enter('another', 'a', () => ++others > 0)
  assert.deepEqual([started.length, others], [3, 1])
  slots.close()
  assert.equal(started.length, 9)
})
