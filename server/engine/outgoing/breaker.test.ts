import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { afterAttempt, type BreakerState, HEALTHY } from './breaker.ts'
import type { AttemptResult } from './retry-schedule.ts'

const T0 = Date.parse('2026-11-15T12:00:00.000Z')
const at = (seconds: number) => new Date(T0 + seconds * 1000)
const answered = (status: number, retryAfter: string | null = null, now = at(0)): AttemptResult => ({
  kind: 'answered',
  status,
  retryAfter,
  now,
})
const SILENT: AttemptResult = { kind: 'timed-out' }

/** For how many seconds it stays open after `now`. */
const openFor = (state: BreakerState, now: Date) =>
  state.openUntil === null ? 0 : (state.openUntil.getTime() - now.getTime()) / 1000

function fail(state: BreakerState, times: number, now = at(0), result = SILENT): BreakerState {
  let next = state
  for (let n = 0; n < times; n += 1) next = afterAttempt(next, result, { now, isProbe: false })
  return next
}

/** A probe that has just started: no other attempt starts while it is in flight. */
const probing = (state: BreakerState, now: Date): BreakerState => ({
  ...state,
  openUntil: new Date(now.getTime() + 45_000),
})

/** Starts a probe that ends immediately. */
function probe(state: BreakerState, now: Date, result: AttemptResult): BreakerState {
  return afterAttempt(probing(state, now), result, { now, isProbe: true })
}

test('four consecutive failures change nothing, the fifth opens the breaker for five seconds', () => {
  assert.deepEqual(fail(HEALTHY, 4), { failures: 4, openUntil: null })
  assert.deepEqual(fail(HEALTHY, 5), { failures: 5, openUntil: at(5) })
})

test('network errors, timeouts, 5xx and 429 are failures', () => {
  const results: AttemptResult[] = [
    SILENT,
    { kind: 'unreachable' },
    answered(500),
    answered(503),
    answered(429),
  ]
  for (const result of results) assert.deepEqual(fail(HEALTHY, 5, at(0), result).openUntil, at(5))
})

test('any other response comes from a working receiver, and closes the breaker', () => {
  for (const status of [200, 204, 301, 400, 404, 408, 410, 422]) {
    assert.deepEqual(
      afterAttempt(fail(HEALTHY, 4), answered(status), { now: at(0), isProbe: false }),
      HEALTHY,
    )
    assert.deepEqual(probe(fail(HEALTHY, 5), at(5), answered(status)), HEALTHY)
  }
})

test('each failed probe doubles the pause, up to a minute', () => {
  let state = fail(HEALTHY, 5)
  let now = at(0)
  const pauses = [openFor(state, now)]
  for (let n = 0; n < 6; n += 1) {
    now = state.openUntil!
    state = probe(state, now, SILENT)
    pauses.push(openFor(state, now))
  }
  assert.deepEqual(pauses, [5, 10, 20, 40, 60, 60, 60])
})

test('failures of attempts that started before it opened do not extend the pause', () => {
  const state = fail(HEALTHY, 5)
  assert.deepEqual(fail(state, 60, at(1)), state)
  const underWay = probing(state, at(5))
  assert.deepEqual(fail(underWay, 10, at(6)), underWay)
})

test('Retry-After is honored even at the first failure, up to an hour', () => {
  for (const status of [429, 503]) {
    const held = afterAttempt(HEALTHY, answered(status, '90'), { now: at(0), isProbe: false })
    assert.deepEqual(held, { failures: 1, openUntil: at(90) })
    const long = afterAttempt(HEALTHY, answered(status, '999999'), { now: at(0), isProbe: false })
    assert.deepEqual(long.openUntil, at(3600))
  }
  assert.equal(afterAttempt(HEALTHY, answered(500, '90'), { now: at(0), isProbe: false }).openUntil, null)
})

test('a success of an older attempt does not end a requested pause', () => {
  const held = afterAttempt(HEALTHY, answered(429, '90'), { now: at(0), isProbe: false })
  const after = afterAttempt(held, answered(200), { now: at(1), isProbe: false })
  assert.deepEqual(after, { failures: 0, openUntil: at(90) })
})

test('a shorter Retry-After does not shorten a longer one', () => {
  const held = afterAttempt(HEALTHY, answered(429, '90'), { now: at(0), isProbe: false })
  const again = afterAttempt(held, answered(429, '5'), { now: at(0), isProbe: false })
  assert.deepEqual(again, { failures: 2, openUntil: at(90) })
})

test('a blocked request says nothing about the receiver, and lets the next attempt probe', () => {
  const state = fail(HEALTHY, 3)
  assert.deepEqual(afterAttempt(state, { kind: 'blocked' }, { now: at(0), isProbe: false }), state)
  assert.deepEqual(probe(fail(HEALTHY, 5), at(5), { kind: 'blocked' }), { failures: 5, openUntil: at(5) })
})

test('a pause from before the clock was set back is ignored', () => {
  const held = afterAttempt(HEALTHY, answered(429, '90'), { now: at(0), isProbe: false })
  const yesterday = at(-24 * 3600)
  assert.deepEqual(afterAttempt(held, answered(200), { now: yesterday, isProbe: false }), HEALTHY)
  assert.equal(fail(held, 1, yesterday).openUntil, null)
})

test('no pause is longer than an hour, and failures are never negative', () => {
  const result = fc.oneof(
    fc.constantFrom<AttemptResult>(SILENT, { kind: 'unreachable' }, { kind: 'blocked' }),
    fc
      .tuple(fc.constantFrom(200, 404, 429, 500, 503), fc.option(fc.nat().map(String)))
      .map(([s, r]) => answered(s, r)),
  )
  const steps = fc.array(fc.tuple(result, fc.nat(4000), fc.boolean()), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(steps, (moves) => {
      let state = HEALTHY
      let seconds = 0
      for (const [outcome, gap, isProbe] of moves) {
        seconds += gap
        state = afterAttempt(state, outcome, { now: at(seconds), isProbe })
        if (state.failures < 0 || openFor(state, at(seconds)) > 3600) return false
      }
      return true
    }),
  )
})
