import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRejectionReport, type ReportedRejections } from './rejection-report.ts'

const MINUTE = 60_000
const rejection = (status: number, request_id = 'r') => ({ status, code: 'code', reason: null, request_id })

function open() {
  const lines: ReportedRejections[] = []
  let time = 0
  const report = createRejectionReport(
    (line) => lines.push(line),
    () => time,
  )
  const pass = (ms: number) => {
    time += ms
    report.flush()
  }
  return { report, lines, pass, counts: () => lines.map(({ hook_id, calls }) => [hook_id, calls]) }
}

test('the first rejected call of a hook is reported immediately, those after it once a minute', () => {
  const { report, lines, pass, counts } = open()
  for (let call = 0; call < 100; call += 1) report.add('a', rejection(429))
  assert.deepEqual(counts(), [['a', 1]])
  pass(MINUTE - 1)
  assert.equal(lines.length, 1)
  report.add('a', rejection(503, 'last'))
  pass(1)
  assert.deepEqual(counts().at(-1), ['a', 100])
  assert.deepEqual(lines.at(-1)!.statuses, { 429: 99, 503: 1 })
  assert.equal(lines.at(-1)!.request_id, 'last')
  report.close()
})

test('hooks are reported apart, and calls of unknown ones together', () => {
  const { report, counts } = open()
  for (const hook of ['a', 'b', null, null, 'a']) report.add(hook, rejection(403))
  assert.deepEqual(counts(), [
    ['a', 1],
    ['b', 1],
    [null, 1],
  ])
  report.close()
  assert.deepEqual(counts().slice(3), [
    [null, 1],
    ['a', 1],
  ])
})

test('after a minute without one, the next is reported immediately again', () => {
  const { report, pass, counts } = open()
  report.add('a', rejection(403))
  pass(MINUTE)
  report.add('a', rejection(403))
  assert.deepEqual(counts(), [
    ['a', 1],
    ['a', 1],
  ])
  report.close()
  assert.equal(counts().length, 2)
})
