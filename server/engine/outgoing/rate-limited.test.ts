import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isRateLimited } from './rate-limited.ts'

const response = (status: number, headers: Record<string, string> = {}, body = '') => ({
  status,
  headers,
  body: Buffer.from(body),
})

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
    assert.ok(isRateLimited(response(403, headers, body)), JSON.stringify([headers, body]))
})

test('another 403 is not, and neither is another status', () => {
  assert.ok(!isRateLimited(response(403)))
  assert.ok(!isRateLimited(response(403, { 'x-ratelimit-remaining': '4999' })))
  assert.ok(!isRateLimited(response(403, {}, '{"message": "Resource not accessible by integration"}')))
  assert.ok(!isRateLimited(response(403, {}, `${'x'.repeat(5_000)} rate limit`)))
  for (const status of [200, 400, 401, 404])
    assert.ok(!isRateLimited(response(status, { 'retry-after': '60', 'x-ratelimit-remaining': '0' })))
})
