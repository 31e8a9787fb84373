import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeLine, describeRun } from './terminal-log.ts'

const line = (fields: object) => JSON.stringify({ level: 40, time: 0, pid: 1, hostname: 'host', ...fields })
const withoutTime = (text: string) => text.replace(/^\d\d:\d\d:\d\d /, '')

test('a warning is text: what happened, why, and to what', () => {
  assert.equal(withoutTime(describeLine(line({ msg: 'worker lost' }))), 'warning: worker lost')
  assert.equal(
    withoutTime(describeLine(line({ level: 50, msg: 'request failed', err: { message: 'no', stack: 'x' } }))),
    'error: request failed: no',
  )
  assert.equal(
    withoutTime(describeLine(line({ msg: 'calls rejected', hook: 7, reason: null, by: { ip: '::1' } }))),
    'warning: calls rejected (hook 7, by {"ip":"::1"})',
  )
})

test('what others send cannot control the terminal', () => {
  const shown = describeLine(line({ msg: 'call rejected', path: 'a\u001b[2J\r\nb\u009b1A\u202ec' }))
  assert.equal(withoutTime(shown), 'warning: call rejected (path a [2J b 1A c)')
})

test('a run that ended is one line with its page', () => {
  const url = 'http://127.0.0.1:7070'
  assert.equal(
    describeRun({ id: 3, status: 'completed', reason: 'COMPLETED', ranSeconds: 4.21 }, url),
    'run #3 completed in 4.2 s: http://127.0.0.1:7070/app/actions/3',
  )
  assert.equal(
    describeRun({ id: 4, status: 'failed', reason: 'FAILED_SOURCE', ranSeconds: 0.25 }, url),
    'run #4 failed after 250 ms (Source not found): http://127.0.0.1:7070/app/actions/4',
  )
  assert.equal(
    describeRun({ id: 5, status: 'skipped', reason: 'SKIPPED', ranSeconds: null }, url),
    'run #5 skipped: http://127.0.0.1:7070/app/actions/5',
  )
})
