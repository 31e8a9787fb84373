import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type HealthCheckInput, normalizeHealthCheck } from './health-check.ts'

const TIMING = { interval_seconds: 2, timeout_seconds: 5, within_seconds: 60, healthy_for_seconds: 0 }
const errorsOf = (input: HealthCheckInput) => {
  const normalized = normalizeHealthCheck(input)
  return normalized.kind === 'invalid' ? normalized.errors : {}
}

test('a check gets the defaults of its type, and stays the same from then on', () => {
  const cases: [HealthCheckInput, object][] = [
    [
      { type: 'http', url: 'http://localhost:3000/health' },
      {
        type: 'http',
        url: 'http://localhost:3000/health',
        expect_status: '200-299',
        expect_body: null,
        ...TIMING,
      },
    ],
    [
      { type: 'tcp', port: 5432 },
      { type: 'tcp', port: 5432, ...TIMING },
    ],
    [
      { type: 'command', command: 'bin/check', within_seconds: 9 },
      { type: 'command', command: 'bin/check', ...TIMING, within_seconds: 9 },
    ],
  ]
  for (const [input, expected] of cases) {
    assert.deepEqual(normalizeHealthCheck(input), { kind: 'valid', check: expected })
    assert.deepEqual(normalizeHealthCheck(expected as HealthCheckInput), { kind: 'valid', check: expected })
  }
  assert.deepEqual(normalizeHealthCheck(null), { kind: 'valid', check: null })
})

test('each type requires its field and refuses those of others, each error at its field', () => {
  assert.deepEqual(errorsOf({ type: 'http' }), { 'health_check.url': ['is required for the type http'] })
  assert.deepEqual(errorsOf({ type: 'tcp', url: 'http://x/', expect_body: 'ok' }), {
    'health_check.url': ['is only for checks of the type http'],
    'health_check.expect_body': ['is only for checks of the type http'],
    'health_check.port': ['is required for the type tcp'],
  })
  assert.deepEqual(errorsOf({ type: 'command', command: 'true', expect_body: null }), {})
})

test('a URL is http or https, without credentials', () => {
  const messages = (url: string) => errorsOf({ type: 'http', url })['health_check.url']
  for (const url of [
    'localhost:3000',
    'ftp://host/',
    'file:///etc/passwd',
    'http://',
    'http://a b/',
    'http://host:70000/',
    'http:\\\\host/',
    'http://host\\@other/',
    '-K/etc/passwd',
    'http://host/\n',
  ])
    assert.match(messages(url)?.[0] ?? '', /^must be an http or https URL/, url)
  for (const url of ['http://user:word@host/', 'https://token@host/', 'http://:word@host/'])
    assert.deepEqual(messages(url), ['must not contain a username or password'], url)
  assert.deepEqual(messages('http://host:0/'), ['must have a port from 1 to 65535'])
  for (const url of ['http://127.0.0.1:3000/health?deep=1', 'HTTPS://shop.internal', 'http://[::1]:8080/'])
    assert.equal(messages(url), undefined, url)
})

test('a range goes up, and healthy time fits into the time for all tries', () => {
  assert.deepEqual(errorsOf({ type: 'http', url: 'http://x/', expect_status: '299-200' }), {
    'health_check.expect_status': ['must be a range from the lower status to the higher one'],
  })
  const tcp = { type: 'tcp', port: 1 } as const
  assert.deepEqual(errorsOf({ ...tcp, within_seconds: 5, healthy_for_seconds: 5 }), {})
  assert.deepEqual(errorsOf({ ...tcp, healthy_for_seconds: 61 }), {
    'health_check.healthy_for_seconds': ['must not be longer than within_seconds, which is 60'],
  })
})

test('a command is measured in bytes', () => {
  assert.deepEqual(errorsOf({ type: 'command', command: 'ü'.repeat(40_000) }), {
    'health_check.command': ['must not be longer than 64 KiB'],
  })
})
