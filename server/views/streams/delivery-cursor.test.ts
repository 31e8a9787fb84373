import assert from 'node:assert/strict'
import { randomUUIDv7 } from 'node:crypto'
import { test } from 'node:test'
import { uuidAt } from '#platform/database/uuid-at.ts'
import { advance, decodeCursor, encodeCursor, isSeen, LATE_MS, timeOf } from './delivery-cursor.ts'

test('a position survives being written and read, and knows what was sent', () => {
  const ids = Array.from({ length: 3 }, () => randomUUIDv7())
  const cursor = decodeCursor(encodeCursor({ from: 1_794_800_000_000, seen: new Set(ids) }))!
  assert.equal(cursor.from, 1_794_800_000_000)
  for (const id of ids) assert.ok(isSeen(cursor, id))
  assert.ok(!isSeen(cursor, randomUUIDv7()))
})

test('its text is short, however much was sent: the newest are named', () => {
  const ids = Array.from({ length: 1_000 }, () => randomUUIDv7())
  const text = encodeCursor({ from: 1, seen: new Set(ids) })
  assert.ok(text.length < 500)
  assert.ok(isSeen(decodeCursor(text)!, ids.at(-1)!))
})

test('other texts are no position', () => {
  for (const text of [
    '',
    'x',
    '-1',
    '1.',
    '1.x',
    '1.5cd31b61ec9',
    '999999999999999',
    `1${'.5cd31b61ec96'.repeat(33)}`,
  ])
    assert.equal(decodeCursor(text), undefined, text)
})

test('records sort by the time at which they were made', () => {
  const before = Date.now()
  const id = randomUUIDv7()
  assert.ok(timeOf(id) >= before && timeOf(id) <= Date.now())
  assert.ok(uuidAt(before) <= id && id < uuidAt(Date.now() + 1))
})

test('what may still be stored late is waited for, and nothing else', () => {
  const now = Date.now()
  const [old, recent] = [uuidAt(now - LATE_MS - 1), uuidAt(now - 1)]
  const { from, seen } = advance({ from: 5, seen: new Set([old, recent]) }, now)
  assert.equal(from, now - LATE_MS)
  assert.deepEqual([...seen], [recent])
  assert.equal(advance({ from: now, seen: new Set() }, now).from, now, 'it never goes back')
})
