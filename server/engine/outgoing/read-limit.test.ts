import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readAllowance, readLimit } from './read-limit.ts'

const NOW = new Date('2026-11-15T12:00:00.000Z')
const HOUR = 3_600
const epoch = (secondsFromNow: number) => String(NOW.getTime() / 1_000 + secondsFromNow)

const answer = (status: number, headers: Record<string, string> = {}, body = '') => ({
  status,
  headers,
  body: Buffer.from(body),
})

/** Seconds from now until the next request may be sent; null: a limit without a time; undefined: no limit. */
function pause(status: number, headers: Record<string, string> = {}, body = ''): number | null | undefined {
  const limit = readLimit(answer(status, headers, body), NOW)
  if (limit === null) return undefined
  return limit.until && (limit.until.getTime() - NOW.getTime()) / 1_000
}
const isRefused = (...given: Parameters<typeof answer>) =>
  readLimit(answer(...given), NOW)?.isRefused ?? false

test('a 403 that states a limit is a rate limit', () => {
  const limited: [Record<string, string>, string][] = [
    [{ 'retry-after': '60' }, ''],
    [{ 'retry-after': 'Sun, 15 Nov 2026 12:00:00 GMT' }, ''],
    [{ 'x-ratelimit-remaining': '0' }, ''],
    [{}, '{"message": "API rate limit exceeded for installation ID 1."}'],
    [{}, '{"message": "You have exceeded a secondary rate limit."}'],
    [{}, 'Too Many Requests'],
    [{}, '{"error": "rate_limited"}'],
  ]
  for (const [headers, body] of limited)
    assert.ok(isRefused(403, headers, body), JSON.stringify([headers, body]))
})

test('another 403 is not, and neither is another status', () => {
  assert.ok(!isRefused(403))
  assert.ok(!isRefused(403, { 'x-ratelimit-remaining': '4999' }))
  assert.ok(!isRefused(403, {}, '{"message": "Resource not accessible by integration"}'))
  assert.ok(!isRefused(403, {}, `${'x'.repeat(5_000)} rate limit`))
  for (const status of [200, 400, 401, 404])
    assert.ok(!isRefused(status, { 'retry-after': '60', 'x-ratelimit-remaining': '0' }))
})

test('the time is the one that the service names', () => {
  const named: [number, Record<string, string>, string, number][] = [
    [429, { 'retry-after': '30' }, '', 30],
    [403, { 'retry-after': 'Sun, 15 Nov 2026 12:02:00 GMT' }, '', 120],
    // A reset in whole seconds: one more.
    [403, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(300) }, '', 301],
    [429, { 'ratelimit-remaining': '0', 'ratelimit-reset': epoch(60) }, '', 61],
    [429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '45' }, '', 45],
    [429, { ratelimit: '"default";r=0;t=30' }, '', 30],
    [429, { ratelimit: '"burst";r=0;t=3, "day";r=0;t=900, "t=7";r=9;t=5' }, '', 900],
    [429, { ratelimit: 'limit=100, remaining=0, reset=20' }, '', 20],
    [429, {}, '{"message": "You are being rate limited.", "retry_after": 0.65, "global": false}', 0.65],
    [429, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset-after': '1.2' }, '', 1.2],
    [200, { 'retry-after': '10' }, '{"ok": false, "error": "ratelimited"}', 10],
    // The longer of two limits.
    [403, { 'retry-after': '30', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(99) }, '', 100],
    // The primary limit is not reached: its reset says nothing about the secondary one.
    [403, { 'retry-after': '60', 'x-ratelimit-remaining': '70', 'x-ratelimit-reset': epoch(900) }, '', 60],
  ]
  for (const [status, headers, body, seconds] of named)
    assert.equal(pause(status, headers, body), seconds, JSON.stringify([status, headers, body]))
})

test('a time in the past, none and garbage name nothing; one next year is cut to an hour', () => {
  const past = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(-10) }
  assert.equal(pause(403, past), null)
  assert.equal(pause(429), null)
  assert.equal(pause(429, { 'retry-after': '0' }), null)
  assert.equal(
    pause(429, { 'retry-after': 'soon', 'x-ratelimit-reset': 'Infinity' }, '{"retry_after": "x"'),
    null,
  )
  assert.equal(pause(403, { ...past, 'x-ratelimit-reset': epoch(365 * 24 * HOUR) }), HOUR)
  assert.equal(pause(429, { 'retry-after': '99999999' }), HOUR)
  assert.equal(pause(429, {}, '{"retry_after": 1e300}'), HOUR)
})

test('nothing remaining after a success pauses what comes next, if it says until when', () => {
  const limit = readLimit(answer(201, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(60) }), NOW)
  assert.deepEqual([limit?.isRefused, limit?.until?.getTime()], [false, NOW.getTime() + 61_000])
  assert.equal(pause(200, { ratelimit: '"default";r=0;t=30' }), 30)
  assert.equal(pause(200, { 'x-ratelimit-remaining': '0' }), undefined)
  assert.equal(pause(200, { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': epoch(-1) }), undefined)
  assert.equal(pause(200, { 'x-ratelimit-remaining': '1', 'x-ratelimit-reset': epoch(60) }), undefined)
  assert.equal(pause(503, { 'retry-after': '60' }), undefined)
})

test('the reason says which limit it is', () => {
  const reason = (body: string) => readLimit(answer(429, {}, body), NOW)?.reason
  assert.equal(reason(''), 'rate limit')
  assert.equal(reason('{"message": "You have exceeded a secondary rate limit."}'), 'secondary rate limit')
  assert.equal(reason('{"global": true, "retry_after": 2}'), 'global rate limit')
})

test('what remains is read from any of the headers', () => {
  const left = (headers: Record<string, string>) => readAllowance(headers, NOW)?.remaining
  assert.equal(left({ 'x-ratelimit-remaining': '12' }), 12)
  assert.equal(left({ ratelimit: '"a";r=5;t=1, "b";r=3;t=60' }), 3)
  assert.equal(left({ 'ratelimit-remaining': '7', 'ratelimit-reset': '1' }), 7)
  assert.equal(left({}), undefined)
  assert.equal(left({ 'x-ratelimit-remaining': '-1', 'x-ratelimit-reset': '1' }), null)
})

test('whatever comes, a pause ends within an hour', () => {
  const text = fc.oneof(
    fc.string(),
    fc.double().map(String),
    fc.constantFrom('0', '"x";r=0;t=1e9', epoch(1e9)),
  )
  const names = ['retry-after', 'ratelimit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'ratelimit-reset']
  const headers = fc.dictionary(fc.constantFrom(...names), text)
  fc.assert(
    fc.property(fc.constantFrom(200, 403, 429, 500), headers, fc.string(), (status, given, body) => {
      const seconds = pause(status, given as Record<string, string>, body)
      assert.ok(seconds == null || (seconds > 0 && seconds <= HOUR))
    }),
  )
})
