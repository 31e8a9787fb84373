import assert from 'node:assert/strict'
import test from 'node:test'
import { compilePayloadChecks, InvalidPayloadError, jobs } from './jobs.ts'
import { testJobs } from './test-queue.ts'

test('a payload that matches its schema passes', () => {
  const check = compilePayloadChecks(testJobs)
  check('test.count', { number: 1 })
})

test('an invalid payload is rejected with its field but without its value', () => {
  const check = compilePayloadChecks(testJobs)
  assert.throws(
    () => check('test.count', { number: 'hunter2' }),
    (error) => {
      assert.ok(error instanceof InvalidPayloadError)
      assert.match(error.message, /test\.count.*\/number/)
      assert.doesNotMatch(error.message, /hunter2/)
      return true
    },
  )
})

test('a job that is not in the catalog is rejected', () => {
  assert.throws(() => compilePayloadChecks(jobs)('queue.nothing', {}), InvalidPayloadError)
})

test('a periodic job cannot pile up, accepts its empty payload, and its slot outlives its period', () => {
  const check = compilePayloadChecks(jobs)
  for (const [name, job] of Object.entries(jobs)) {
    if (!('everySeconds' in job)) continue
    check(name, {})
    assert.equal(job.unique, 'waiting-or-running')
    assert.ok(job.keepFinishedSeconds > job.everySeconds)
    assert.ok(job.timeoutSeconds < job.everySeconds)
  }
})
