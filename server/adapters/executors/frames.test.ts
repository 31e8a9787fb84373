import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFrameReader, MAX_CHUNK_BYTES } from './frames.ts'

function readAll(pieces: Buffer[]) {
  const seen: unknown[] = []
  const read = createFrameReader({
    onLine: (words) => void seen.push(words),
    onData: (id, offset, chunk) => void seen.push([id, offset, chunk.toString('latin1')]),
  })
  return { seen, valid: pieces.every((piece) => read(piece)) }
}

test('lines and output are told apart, however they arrive', () => {
  const bytes = Buffer.from('tick 5\ndata 1 0 7\na\n\0b\nc\nend 1 exited 0\ndata 2 9 0\n', 'latin1')
  const expected = [
    ['tick', '5'],
    [1, 0, 'a\n\0b\nc\n'.slice(0, 7)],
    ['end', '1', 'exited', '0'],
    [2, 9, ''],
  ]
  const single = Array.from(bytes, (byte) => Buffer.from([byte]))
  for (const pieces of [[bytes], single]) {
    const { seen, valid } = readAll(pieces)
    assert.ok(valid)
    assert.deepEqual(seen, expected)
  }
})

test('what no supervisor sends is rejected', () => {
  for (const text of [
    `data 1 0 ${MAX_CHUNK_BYTES + 1}\n`,
    'data 1 -1 5\n',
    'data 1 0\n',
    'data 1 0 99999999999999999999\n',
    'x'.repeat(10_000),
  ])
    assert.equal(readAll([Buffer.from(text)]).valid, false, text.slice(0, 40))
})
