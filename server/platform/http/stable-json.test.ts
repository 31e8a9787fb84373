import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { markStable, stringifyStable } from './stable-json.ts'

test('the text equals JSON.stringify, whatever is marked stable', () => {
  const withStableParts = fc
    .jsonValue({ depthSize: 'medium' })
    .chain((value) => fc.tuple(fc.constant(value), fc.infiniteStream(fc.boolean())))
  fc.assert(
    fc.property(withStableParts, ([value, coin]) => {
      const expected = JSON.stringify(value)
      const walk = (part: unknown): void => {
        if (typeof part !== 'object' || part === null) return
        if (coin.next().value) markStable(part)
        for (const child of Object.values(part)) walk(child)
      }
      walk(value)
      assert.equal(stringifyStable(value), expected)
      assert.equal(
        stringifyStable({ a: value, b: [value, true] }),
        `{"a":${expected},"b":[${expected},true]}`,
      )
    }),
  )
})

test('fields without a value are left out, as JSON leaves them out', () => {
  assert.equal(stringifyStable({ a: undefined, b: 1 }), '{"b":1}')
})
