import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { fittingLength } from './log-writer.ts'

suite('truncating a text', () => {
  test('splits neither characters nor color sequences', () => {
    assert.equal(fittingLength('a🙂b', 4), 1)
    assert.equal(fittingLength('a🙂b', 5), 3)
    const text = 'ab\x1b[1;31mcd'
    for (const most of [2, 3, 4, 5, 6, 7, 8]) assert.equal(fittingLength(text, most), 2, String(most))
    assert.equal(fittingLength(text, 9), 9)
    assert.equal(fittingLength(text, 10), 10)
    assert.equal(fittingLength('', 0), 0)
  })
})
