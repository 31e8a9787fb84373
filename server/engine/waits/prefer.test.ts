import assert from 'node:assert/strict'
import { test } from 'node:test'
import { waitSecondsOf } from './prefer.ts'

test('the seconds of the preference wait are read in every notation of the RFC', () => {
  const cases: [string | string[], number][] = [
    ['wait=10', 10],
    ['Wait = 10', 10],
    ['wait="10"', 10],
    ['respond-async, wait=10', 10],
    ['return=minimal; foo="a, wait=5", wait=10', 10],
    ['wait=10; foo=bar', 10],
    ['wait=10, wait=20', 10],
    [['return=minimal', 'wait=10'], 10],
    ['wait=007', 7],
    ['wait=300', 300],
    ['wait=301', 300],
    ['wait=99999999999999999999999999', 300],
  ]
  for (const [prefer, seconds] of cases) assert.equal(waitSecondsOf(prefer), seconds, String(prefer))
})

test('anything else is ignored', () => {
  const headers = ['', 'wait', 'wait=', 'wait=0', 'wait=-1', 'wait=1.5', 'wait=1e2', 'wait=0x10', 'wait=ten']
  for (const prefer of [...headers, 'waits=10', 'no-wait=10', 'wait 10', 'foo="wait=10', 'wait=, wait=10'])
    assert.equal(waitSecondsOf(prefer), undefined, prefer)
  assert.equal(waitSecondsOf(undefined), undefined)
  assert.equal(waitSecondsOf(`${'"\\'.repeat(20_000)}, wait=10`), undefined)
})
