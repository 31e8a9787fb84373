import assert from 'node:assert/strict'
import { test } from 'node:test'
import { textFrom } from './read-log.ts'

test('a text is read from a byte on, or from the start of the character that contains it', () => {
  const text = 'aé漢🙂z'
  const rests = [
    'aé漢🙂z',
    'é漢🙂z',
    'é漢🙂z',
    '漢🙂z',
    '漢🙂z',
    '漢🙂z',
    '🙂z',
    '🙂z',
    '🙂z',
    '🙂z',
    'z',
    '',
    '',
  ]
  for (const [byte, rest] of rests.entries()) assert.equal(textFrom(text, byte), rest, String(byte))
  assert.equal(textFrom(text, -5), text)
})
