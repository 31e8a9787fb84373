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

/** The pauses that a delivery sees when every attempt has the same result, then how it ends. */
function course(result: AttemptResult, random = 0.5): (number | string)[] {
  const seen: (number | string)[] = []
  for (let attempt = 1; ; attempt += 1) {
    const next = nextAttempt(result, attempt, random)
    if (next.kind !== 'retry') return [...seen, next.kind]
    seen.push(next.afterMs / 1000)
  }
}

const WHOLE = [5, 30, 120, 600, 1800, 3600, 10800, 21600, 43200, 'failed']

test('every 2xx is a delivery', () => {
  for (const status of [200, 201, 202, 204, 299]) assert.deepEqual(course(answered(status)), ['delivered'])
})

test('faults of the network, silence and passing troubles are tried again for almost a day', () => {
  assert.deepEqual(course({ kind: 'unreachable' }), WHOLE)
  assert.deepEqual(course({ kind: 'timed-out' }), WHOLE)
  for (const status of [408, 425, 429, 500, 502, 503, 504, 599])
    assert.deepEqual(course(answered(status)), WHOLE, String(status))
})

test('what may only be missing yet gets two short retries', () => {
  for (const status of [404, 409, 422]) assert.deepEqual(course(answered(status)), [5, 30, 'failed'])
})

test('other answers are final, and so is what may not be sent', () => {
  for (const status of [300, 301, 302, 304, 307, 308, 400, 401, 403, 405, 410, 413, 418])
    assert.deepEqual(course(answered(status)), ['failed'], String(status))
  assert.deepEqual(course({ kind: 'blocked' }), ['failed'])
})

test('giving up says why', () => {
  const reasonFor = (result: AttemptResult, attempt: number) => {
    const next = nextAttempt(result, attempt, 0)
    return next.kind === 'failed' ? next.reason : next.kind
  }
  assert.match(reasonFor(answered(302), 1), /returned 302; redirects are not followed/)
  assert.match(reasonFor(answered(400), 1), /returned 400/)
  assert.match(reasonFor({ kind: 'timed-out' }, 10), /in time.* Attempt 10 was the last/)
  assert.match(reasonFor({ kind: 'blocked' }, 1), /not allowed/)
})

test('pauses are spread by a fifth to both sides', () => {
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

test('a receiver that asks for more time gets it, up to an hour', () => {
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

test('a receiver that asks for less time than is planned does not get a request sooner', () => {
  const next = nextAttempt(answered(429, '1'), 4, 0.5)
  assert.deepEqual(next, { kind: 'retry', afterMs: 600_000 })
})

test('asking for time does not make a final answer less final', () => {
  assert.deepEqual(course(answered(400, '60')), ['failed'])
  assert.deepEqual(course(answered(200, '60')), ['delivered'])
})

test('dates of Retry-After are read in all three forms of HTTP, whatever the zone of this machine', () => {
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

test('the date is held against the clock that was passed in, also one that is off', () => {
  const date = 'Sun, 15 Nov 2026 12:10:00 GMT'
  assert.equal(readRetryAfter(date, new Date('2026-11-15T12:09:30.000Z')), 30_000)
  assert.equal(readRetryAfter(date, new Date('2027-11-15T12:00:00.000Z')), 0)
  assert.equal(readRetryAfter(date, new Date('2020-11-15T12:00:00.000Z')), HOUR)
})

test('a Retry-After that says nothing sensible counts for nothing', () => {
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
