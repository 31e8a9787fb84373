import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { mayBeToken, newPersonalToken } from './personal-token.ts'

/** What docs/guides/tokens.md tells writers of scanners, written once more. */
function isRecognized(text: string): boolean {
  const [, random = '', checksum = ''] = /^gty_pat_([0-9A-Za-z]{40})([0-9A-Za-z]{6})$/.exec(text) ?? []
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  return (
    random !== '' &&
    [...checksum].reduce((sum, digit) => sum * 62 + digits.indexOf(digit), 0) === crc32(random)
  )
}

test('a token has a prefix, 40 random characters and a checksum that anyone can verify', () => {
  const tokens = Array.from({ length: 200 }, newPersonalToken)
  assert.equal(new Set(tokens).size, 200)
  for (const token of tokens) {
    assert.ok(isRecognized(token), token)
    assert.ok(mayBeToken(token))
  }
})

test('one changed character makes the checksum wrong', () => {
  const token = newPersonalToken()
  for (let at = 'gty_pat_'.length; at < token.length; at++) {
    const changed = token.slice(0, at) + (token[at] === 'x' ? 'y' : 'x') + token.slice(at + 1)
    assert.equal(mayBeToken(changed), false, changed)
  }
})

test('a personal token of an earlier version is not refused, one of another length is', () => {
  assert.ok(mayBeToken('gty_pat_3qTs7aiVKmQMDjppIrauL_SePd3x1SphpaMhonpRnDU'))
  for (const wrong of ['gty_pat_', 'gty_pat_x', `${newPersonalToken()}x`, newPersonalToken().slice(0, -1)])
    assert.equal(mayBeToken(wrong), false, wrong)
})

test('other kinds of tokens have no checksum', () => {
  for (const token of ['gty_at_abc', 'anything']) assert.ok(mayBeToken(token))
})
