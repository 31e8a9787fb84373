import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import fc from 'fast-check'
import { createCap, fittingLength } from './log-writer.ts'

suite('a cap', () => {
  test('keeps everything up to the last byte', () => {
    const cap = createCap(6)
    assert.deepEqual(cap('abc'), { kept: 'abc', notice: null })
    assert.deepEqual(cap('é'), { kept: 'é', notice: null })
    assert.deepEqual(cap('d'), { kept: 'd', notice: null })
    assert.deepEqual(cap(''), { kept: '', notice: null })
  })

  test('reports the truncation once and keeps nothing afterward', () => {
    const cap = createCap(10 * 2 ** 20)
    assert.equal(cap('x'.repeat(10 * 2 ** 20 - 1)).notice, null)
    assert.deepEqual(cap('yz'), { kept: 'y', notice: '[output truncated: the limit is 10 MiB per step]' })
    assert.deepEqual(cap('z'), { kept: '', notice: null })
  })

  test('counts what earlier attempts kept', () => {
    assert.equal(createCap(1024, 1020)('abcde').kept, 'abcd')
    assert.deepEqual(createCap(1024, 2000)('a'), {
      kept: '',
      notice: '[output truncated: the limit is 1 KiB per step]',
    })
    assert.equal(createCap(1000, 1000)('a').notice, '[output truncated: the limit is 1000 bytes per step]')
  })

  test('keeps the longest prefix that fits', () => {
    const piece = fc.string({ unit: fc.constantFrom('a', 'é', '漢', '🙂'), maxLength: 10 })
    fc.assert(
      fc.property(fc.array(piece), fc.nat(40), (pieces, most) => {
        const cap = createCap(most)
        const answers = pieces.map(cap)
        const kept = answers.map((answer) => answer.kept).join('')
        const text = pieces.join('')
        assert.ok(text.startsWith(kept) && kept.isWellFormed())
        assert.ok(Buffer.byteLength(kept) <= most)
        const isCut = kept !== text
        if (isCut) assert.ok(Buffer.byteLength(kept) > most - 4)
        assert.equal(answers.filter(({ notice }) => notice !== null).length, isCut ? 1 : 0)
      }),
    )
  })
})

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
