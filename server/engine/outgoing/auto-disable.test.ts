import assert from 'node:assert/strict'
import { test } from 'node:test'
import { evaluateHook, type FailureRecord, type HookVerdict, NO_FAILURES } from './auto-disable.ts'
import type { AttemptResult } from './retry-schedule.ts'

const T0 = Date.parse('2026-11-15T12:00:00.000Z')
const day = (days: number) => new Date(T0 + days * 86_400_000)
const answered = (status: number): AttemptResult => ({
  kind: 'answered',
  status,
  retryAfter: null,
  now: day(0),
})
const SILENT: AttemptResult = { kind: 'timed-out' }

/** Attempts in order; each is the last of its delivery by default. */
function run(
  attempts: { on: number; result?: AttemptResult; isLast?: boolean }[],
  from: FailureRecord = NO_FAILURES,
): { record: FailureRecord; verdicts: HookVerdict['kind'][]; reason: string | null } {
  let record = from
  let reason: string | null = null
  const verdicts = attempts.map(({ on, result = SILENT, isLast = true }) => {
    const evaluated = evaluateHook(record, result, { now: day(on), isLast })
    record = evaluated.record
    if (evaluated.verdict.kind === 'disable') reason = evaluated.verdict.reason
    return evaluated.verdict.kind
  })
  return { record, verdicts, reason }
}

const nine = Array.from({ length: 9 }, () => ({ on: 0 }))

test('a hook is disabled when every delivery failed for five days', () => {
  const { verdicts, reason } = run([...nine, { on: 5 }])
  assert.equal(verdicts.at(-1), 'disable')
  assert.equal(reason, 'Every delivery failed for 5 days (10 deliveries).')
})

test('it is not disabled before the five days are over', () => {
  assert.equal(run([...nine, { on: 4.999 }]).verdicts.includes('disable'), false)
})

test('it is not disabled for fewer than ten deliveries, however long it fails', () => {
  assert.equal(run([...nine.slice(1), { on: 50 }]).verdicts.includes('disable'), false)
})

test('attempts that will be retried do not count as failed deliveries', () => {
  const attempts = Array.from({ length: 50 }, (_, n) => ({ on: n / 5, isLast: false }))
  const { record, verdicts } = run(attempts)
  assert.equal(verdicts.includes('disable'), false)
  assert.equal(record.failedDeliveries, 0)
})

test('one successful delivery resets everything', () => {
  const { record, verdicts } = run([...nine, { on: 4, result: answered(200) }])
  assert.deepEqual(record, NO_FAILURES)
  assert.equal(verdicts.at(-1), 'keep')
  assert.equal(
    run(
      [...nine, { on: 5 }].map(({ on }) => ({ on: on + 4.5 })),
      record,
    ).verdicts[0],
    'keep',
  )
})

test('a warning is logged once, after half of the time', () => {
  const { verdicts } = run([{ on: 0 }, { on: 2.4 }, { on: 2.5 }, { on: 3 }, { on: 4.9 }])
  assert.deepEqual(verdicts, ['keep', 'keep', 'warn', 'keep', 'keep'])
})

test('another series of failures causes another warning', () => {
  const first = run([{ on: 0 }, { on: 3 }, { on: 4, result: answered(200) }])
  assert.deepEqual(run([{ on: 5 }, { on: 8 }], first.record).verdicts, ['keep', 'warn'])
})

test('a receiver that returns 410 twice is gone', () => {
  const { verdicts, reason } = run([
    { on: 0, result: answered(410) },
    { on: 0.1, result: answered(410) },
  ])
  assert.deepEqual(verdicts, ['keep', 'disable'])
  assert.equal(reason, 'The receiver returned 410 (Gone) twice.')
})

test('any other response in between means that it is not gone; a timeout does not', () => {
  const gone = { on: 0, result: answered(410) }
  assert.equal(run([gone, { on: 0, result: answered(500) }, gone]).verdicts.at(-1), 'keep')
  assert.equal(run([gone, { on: 0, result: answered(200) }, gone]).verdicts.at(-1), 'keep')
  assert.equal(run([gone, { on: 0, result: SILENT }, gone]).verdicts.at(-1), 'disable')
})

test('a clock that is set back restarts the five days, and disables nothing', () => {
  const { record, verdicts } = run([...nine, { on: -30 }, { on: -26 }])
  assert.equal(verdicts.includes('disable'), false)
  assert.deepEqual(record.failingSince, day(-30))
  assert.equal(run([{ on: -24 }], record).verdicts[0], 'disable')
})

test('a blocked request counts as a failure', () => {
  const attempts = Array.from({ length: 10 }, (_, n) => ({ on: n, result: { kind: 'blocked' } as const }))
  assert.equal(run(attempts).verdicts.at(-1), 'disable')
})
