import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type AttemptResult, nextAttempt, readRetryAfter } from './retry-schedule.ts'

const NOW = new Date('2026-11-15T12:00:00.000Z')
const HOUR = 3_600_000
const answered = (status: number, retryAfter: string | null = null): AttemptResult => ({
  kind: 'answered',
  status,
  retryAfter,
  now: NOW,
})

/** The delays of a delivery when every attempt has the same result, then how it ends. */
function course(result: AttemptResult, random = 0.5): (number | string)[] {
  const seen: (number | string)[] = []
  for (let attempt = 1; ; attempt += 1) {
    const next = nextAttempt(result, attempt, random)
    if (next.kind !== 'retry') return [...seen, next.kind]
    seen.push(next.afterMs / 1000)
  }
}

const WHOLE = [5, 30, 120, 600, 1800, 3600, 10800, 21600, 43200, 'failed']

test('every 2xx is a successful delivery', () => {
  for (const status of [200, 201, 202, 204, 299]) assert.deepEqual(course(answered(status)), ['delivered'])
})

test('network errors, timeouts and temporary errors are retried for almost a day', () => {
  assert.deepEqual(course({ kind: 'unreachable' }), WHOLE)
  assert.deepEqual(course({ kind: 'timed-out' }), WHOLE)
  for (const status of [408, 425, 429, 500, 502, 503, 504, 599])
    assert.deepEqual(course(answered(status)), WHOLE, String(status))
})

test('404, 409 and 422 get two short retries', () => {
  for (const status of [404, 409, 422]) assert.deepEqual(course(answered(status)), [5, 30, 'failed'])
})

test('other responses are final, and so is a blocked request', () => {
  for (const status of [300, 301, 302, 304, 307, 308, 400, 401, 403, 405, 410, 413, 418])
    assert.deepEqual(course(answered(status)), ['failed'], String(status))
  assert.deepEqual(course({ kind: 'blocked' }), ['failed'])
})

test('a 403 because of a rate limit is retried like 429, and says so at the end', () => {
  const limited = { kind: 'answered' as const, status: 403, now: NOW, isRateLimited: true }
  assert.deepEqual(course({ ...limited, retryAfter: null }), WHOLE)
  assert.deepEqual(course({ ...limited, retryAfter: '60' }).slice(0, 3), [60, 60, 120])
  const last = nextAttempt({ ...limited, retryAfter: null }, 10, 0)
  assert.match(last.kind === 'failed' ? last.reason : '', /returned 403: its rate limit is reached/)
})

test('a final failure has a reason', () => {
  const reasonFor = (result: AttemptResult, attempt: number) => {
    const next = nextAttempt(result, attempt, 0)
    return next.kind === 'failed' ? next.reason : next.kind
  }
  assert.match(reasonFor(answered(302), 1), /returned 302; redirects are not followed/)
  assert.match(reasonFor(answered(400), 1), /returned 400/)
  assert.match(reasonFor({ kind: 'timed-out' }, 10), /in time.* Attempt 10 was the last/)
  assert.match(reasonFor({ kind: 'blocked' }, 1), /not allowed/)
})

test('delays have a jitter of 20 %', () => {
  assert.equal(course({ kind: 'unreachable' }, 0)[0], 4)
  assert.equal(course({ kind: 'unreachable' }, 1)[0], 6)
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 9 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (attempt, random) => {
        const next = nextAttempt({ kind: 'unreachable' }, attempt, random)
        const pause = (WHOLE[attempt - 1] as number) * 1000
        return next.kind === 'retry' && next.afterMs >= pause * 0.8 - 1 && next.afterMs <= pause * 1.2 + 1
      },
    ),
  )
})

test('a longer Retry-After is honored, up to an hour', () => {
  const after = (header: string, attempt = 1, status = 429) => {
    const next = nextAttempt(answered(status, header), attempt, 0.5)
    return next.kind === 'retry' ? next.afterMs / 1000 : next.kind
  }
  assert.equal(after('120'), 120)
  assert.equal(after('120', 1, 503), 120)
  assert.equal(after('120', 1, 404), 120)
  assert.equal(after('86400'), 3600)
  assert.equal(after('9'.repeat(400)), 3600)
  assert.equal(after('Sun, 15 Nov 2026 12:05:00 GMT'), 300)
  assert.equal(after('Wed, 15 Nov 2028 12:05:00 GMT'), 3600)
})

test('a shorter Retry-After does not shorten the scheduled delay', () => {
  const next = nextAttempt(answered(429, '1'), 4, 0.5)
  assert.deepEqual(next, { kind: 'retry', afterMs: 600_000 })
})

test('Retry-After does not make a final response retryable', () => {
  assert.deepEqual(course(answered(400, '60')), ['failed'])
  assert.deepEqual(course(answered(200, '60')), ['delivered'])
})

test('Retry-After dates are parsed in all three HTTP formats, whatever the local time zone', () => {
  const forms = [
    'Sun, 15 Nov 2026 12:10:00 GMT',
    'Sunday, 15-Nov-26 12:10:00 GMT',
    'Sun Nov 15 12:10:00 2026',
  ]
  const before = process.env.TZ
  try {
    for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York']) {
      process.env.TZ = zone
      for (const form of forms) assert.equal(readRetryAfter(form, NOW), 600_000, `${form} in ${zone}`)
    }
  } finally {
    if (before === undefined) delete process.env.TZ
    else process.env.TZ = before
  }
  assert.equal(readRetryAfter('Sun Nov  1 12:10:00 2026', NOW), 0)
})

test('the date is compared with the given clock, even if that is wrong', () => {
  const date = 'Sun, 15 Nov 2026 12:10:00 GMT'
  assert.equal(readRetryAfter(date, new Date('2026-11-15T12:09:30.000Z')), 30_000)
  assert.equal(readRetryAfter(date, new Date('2027-11-15T12:00:00.000Z')), 0)
  assert.equal(readRetryAfter(date, new Date('2020-11-15T12:00:00.000Z')), HOUR)
})

test('an invalid Retry-After is ignored', () => {
  for (const text of [
    '',
    ' ',
    'soon',
    '-5',
    '1.5',
    '1e9',
    '0x10',
    '2026-11-15',
    'Xxx, 99 Xxx 2026 99:99:99 GMT',
  ])
    assert.equal(readRetryAfter(text, NOW), null, text)
  assert.equal(readRetryAfter(null, NOW), null)
  fc.assert(
    fc.property(fc.string(), (text) => {
      const read = readRetryAfter(text, NOW)
      return read === null || (read >= 0 && read <= HOUR)
    }),
  )
})
