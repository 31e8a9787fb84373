import assert from 'node:assert/strict'
import test from 'node:test'
import { runAttempt } from './run-attempt.ts'

const attempt = { id: 'a', retryCount: 0 }
const limits = { timeoutMs: 60_000, abortGraceMs: 1 }

test('a handler that returns although the worker is stopping has completed its job', async () => {
  const finish = Promise.withResolvers<void>()
  const run = runAttempt(attempt, () => finish.promise, { ...limits, abortGraceMs: 60_000 })
  run.stop()
  finish.resolve()
  assert.deepEqual(await run.outcome, { kind: 'completed' })
})

test('a handler that throws because the worker is stopping has not failed', async () => {
  const run = runAttempt(attempt, async (signal) => waitForAbort(signal), limits)
  run.stop()
  assert.deepEqual(await run.outcome, { kind: 'handed-back' })
})

test('a handler that ignores a stopping worker is handed back after its grace period', async () => {
  const run = runAttempt(attempt, () => new Promise(() => {}), limits)
  run.stop()
  assert.deepEqual(await run.outcome, { kind: 'handed-back' })
})

test('a lost attempt is lost even when its handler returns', async () => {
  const finish = Promise.withResolvers<void>()
  const run = runAttempt(attempt, () => finish.promise, { ...limits, abortGraceMs: 60_000 })
  run.lose()
  finish.resolve()
  assert.deepEqual(await run.outcome, { kind: 'lost' })
})

test('a handler that returns after its timeout has failed', async () => {
  const run = runAttempt(attempt, (signal) => waitForAbort(signal).catch(() => {}), {
    ...limits,
    timeoutMs: 1,
  })
  const outcome = await run.outcome
  assert.equal(outcome.kind, 'failed')
})

test('a thrown value that is not an error becomes one', async () => {
  const run = runAttempt(attempt, () => Promise.reject('a text'), limits)
  assert.deepEqual(await run.outcome, { kind: 'failed', error: new Error('a text') })
})

function waitForAbort(signal: AbortSignal): Promise<void> {
  return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
}
