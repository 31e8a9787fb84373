import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createEventParser } from '#client/sse.ts'

const STREAM = [
  'retry: 2000\n\n',
  ':\n\n',
  'event: action\nid: 1\ndata: {"a":1}\n\n',
  'id: 2\n\n',
  'data:one\r\ndata: two\r\n\r\n',
  'event: log\rid: 3\rdata:  three\rother: field\r\r',
  'data\n\n',
  'event: left out, because it has no data\n\n',
  'id: a\0b\ndata: the id before stays\n\n',
  'data: never finished',
].join('')
const EVENTS = [
  { type: 'action', id: '1', data: '{"a":1}' },
  { type: 'message', id: '2', data: 'one\ntwo' },
  { type: 'log', id: '3', data: ' three' },
  { type: 'message', id: '3', data: '' },
  { type: 'message', id: '3', data: 'the id before stays' },
]

test('a stream is the same events wherever its text is cut', () => {
  const cuts = fc.uniqueArray(fc.integer({ min: 1, max: STREAM.length - 1 }), { maxLength: 40 })
  fc.assert(
    fc.property(cuts, (unsorted) => {
      const at = [0, ...unsorted.sort((one, other) => one - other), STREAM.length]
      const parser = createEventParser('0')
      const events = at.slice(1).flatMap((end, index) => parser.push(STREAM.slice(at[index], end)))
      assert.deepEqual(events, EVENTS)
      assert.equal(parser.lastEventId, '3')
      assert.equal(parser.retryMs, 2_000)
    }),
  )
})
