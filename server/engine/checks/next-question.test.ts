import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nextQuestion } from './next-question.ts'

const minMs = 15_000
const next = (unchangedSeconds: number, ...settleSeconds: number[]) =>
  nextQuestion({ unchangedMs: unchangedSeconds * 1_000, settleSeconds, minMs }) / 1_000

test('a host is asked every 15 seconds at first, and every two minutes when nothing changes', () => {
  assert.deepEqual(
    [0, 60, 120, 240, 480, 3_600].map((seconds) => next(seconds)),
    [15, 15, 30, 60, 120, 120],
  )
})

test('it is asked when a run may pass, never sooner than 15 seconds later', () => {
  assert.deepEqual(
    [next(0, 30), next(20, 30), next(200, 230), next(200, 210, 300), next(400, 30)],
    [15, 15, 30, 15, 100],
  )
})
