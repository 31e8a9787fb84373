import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { suite, test } from 'node:test'
import type { SignatureRule } from '#model/hooks/signature-schemes.ts'
import { compileCondition } from '#model/payload/conditions.ts'
import { planRun } from '#model/pipelines/plan.ts'
import { createRateLimiter } from '#platform/rate-limit.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { type Call, evaluateCall, evaluatePayload, UNAUTHENTICATED_LIMIT } from './evaluate-call.ts'
import type { HookTokens } from './hook-tokens.ts'

const NOW = 1_790_000_000_000
const MAX_PAYLOAD = 1024
const GOOD = '{"ref":"main","n":1}'

const pipeline = {
  id: 1,
  environmentId: 1,
  operation: 'deploy',
  isArchived: false,
  queuePolicy: 'queue' as const,
  maxParallelActions: 1,
  needsChecks: false,
  needsApproval: false,
  hasDependents: false,
  rollout: null,
  servers: [{ id: 1, name: 'web-1' }],
  steps: [{ id: 1, name: 'x', description: null }],
}
const signature: SignatureRule = {
  scheme: 'body',
  algorithm: 'sha256',
  header: 'x-signature',
  template: [],
  timestampHeader: null,
  idHeader: null,
  secrets: ['the new secret', 'the old secret'],
}
const hookOf = (more: Partial<CompiledHook> = {}): CompiledHook => ({
  id: '00000000-0000-4000-8000-000000000001',
  name: 'Hook',
  active: true,
  signature,
  previousSecretUntil: 0,
  rateLimit: { perSecond: 1, burst: 2 },
  hasPaths: false,
  conditions: [compileCondition({ path: 'ref', accepted_values: ['main'] })],
  variables: [{ name: 'n', path: 'n', keys: ['n'], type: 'integer', required: true, defaultValue: null }],
  pipeline,
  plan: planRun(pipeline),
  notifiesOnStart: false,
  isConnected: false,
  isToldOfChecks: false,
  finds: [],
  application: null,
  ...more,
})
const callOf = (body: string, headers: Call['headers'] = {}, key = 'the new secret'): Call => ({
  headers: {
    'content-type': 'application/json',
    'x-signature': createHmac('sha256', key).update(body).digest('hex'),
    ...headers,
  },
  body: Buffer.from(body),
  address: '192.0.2.7',
})
const evaluate = async (call: Call, hook = hookOf(), limiter = createRateLimiter(), now = NOW) => {
  const hookTokens: HookTokens = { take: async (id, rate) => limiter.take(`hook ${id}`, rate, now) }
  return (await evaluateCall(hook, call, { limiter, hookTokens, maxPayload: MAX_PAYLOAD }, now)).verdict
}

test('a valid call is accepted with its variables', async () => {
  assert.deepEqual(await evaluate(callOf(GOOD)), { kind: 'accepted', variables: { n: 1 } })
})

suite('the order of checks', () => {
  const PING = { 'x-github-event': 'ping' }
  const UNSIGNED = { 'x-signature': undefined }

  test('the signature is checked first, before a ping and the content type', async () => {
    for (const body of [GOOD, '{', '{"ref":"dev"}', '{"ref":"main"}'])
      assert.equal(
        (await evaluate(callOf(body, { ...UNSIGNED, ...PING, 'content-type': 'x/y' }))).kind,
        'rejected_signature',
      )
  })

  test('the rate limit comes before the payload', async () => {
    const limiter = createRateLimiter()
    const hook = hookOf()
    assert.equal((await evaluate(callOf('{', PING), hook, limiter)).kind, 'rejected_payload')
    assert.equal((await evaluate(callOf('{', PING), hook, limiter)).kind, 'rejected_payload')
    assert.deepEqual(await evaluate(callOf('{', PING), hook, limiter), {
      kind: 'rate_limited',
      retryAfterSeconds: 1,
    })
    assert.equal((await evaluate(callOf(GOOD), hook, limiter, NOW + 1000)).kind, 'accepted')
  })

  test('the payload comes before a ping, a ping before the conditions', async () => {
    assert.equal((await evaluate(callOf('{', PING))).kind, 'rejected_payload')
    assert.equal((await evaluate(callOf('{"ref":"dev"}', PING))).kind, 'ping')
  })

  test('the conditions come before the variables', async () => {
    const verdict = await evaluate(callOf('{"ref":"dev"}'))
    assert.equal(verdict.kind === 'ignored' && verdict.unmet.label, 'ref')
    assert.equal((await evaluate(callOf('{"ref":"main"}'))).kind, 'rejected_variables')
  })
})

suite('secrets', () => {
  const old = () => callOf(GOOD, {}, 'the old secret')

  test('the previous secret is valid until it expires, and not a millisecond longer', async () => {
    const hook = hookOf({ previousSecretUntil: NOW })
    assert.equal((await evaluate(old(), hook, createRateLimiter(), NOW - 1)).kind, 'accepted')
    assert.equal((await evaluate(old(), hook, createRateLimiter(), NOW)).kind, 'rejected_signature')
    assert.equal((await evaluate(callOf(GOOD), hook, createRateLimiter(), NOW)).kind, 'accepted')
  })

  test('a hook without a secret ignores signatures', async () => {
    const call = callOf(GOOD, { 'x-signature': 'nonsense' })
    assert.equal((await evaluate(call, hookOf({ signature: null }))).kind, 'accepted')
  })
})

suite('rate limits', () => {
  const bad = (address: string) => ({ ...callOf(GOOD, { 'x-signature': 'nonsense' }), address })

  test('wrongly signed calls are limited by address, and do not count against the hook', async () => {
    const limiter = createRateLimiter()
    const kinds: string[] = []
    for (let n = 0; n <= UNAUTHENTICATED_LIMIT.burst; n += 1)
      kinds.push((await evaluate(bad('192.0.2.8'), hookOf(), limiter)).kind)
    assert.equal(kinds.filter((kind) => kind === 'rejected_signature').length, UNAUTHENTICATED_LIMIT.burst)
    assert.equal(kinds.at(-1), 'rate_limited')
    assert.equal((await evaluate(bad('192.0.2.9'), hookOf(), limiter)).kind, 'rejected_signature')
    assert.equal((await evaluate(callOf(GOOD), hookOf(), limiter)).kind, 'accepted')
  })

  test('correctly signed calls pass from an address that also sent wrong signatures', async () => {
    const limiter = createRateLimiter()
    for (let n = 0; n <= UNAUTHENTICATED_LIMIT.burst; n += 1)
      await evaluate(bad('192.0.2.7'), hookOf(), limiter)
    assert.equal((await evaluate(callOf(GOOD), hookOf(), limiter)).kind, 'accepted')
  })

  test('hooks have separate limits', async () => {
    const limiter = createRateLimiter()
    for (let n = 0; n < 5; n += 1) await evaluate(callOf(GOOD), hookOf(), limiter)
    assert.equal((await evaluate(callOf(GOOD), hookOf(), limiter)).kind, 'rate_limited')
    assert.equal((await evaluate(callOf(GOOD), hookOf({ id: 'another' }), limiter)).kind, 'accepted')
  })
})

test('a body of another content type is unsupported, an invalid one is malformed', async () => {
  const unsupported = evaluatePayload(hookOf(), callOf(GOOD, { 'content-type': 'text/plain' }))
  assert.ok(unsupported.kind === 'rejected_payload' && unsupported.code === 'unsupported_media_type')
  const malformed = evaluatePayload(hookOf(), callOf('{'))
  assert.ok(malformed.kind === 'rejected_payload' && malformed.code === 'malformed')
  assert.match(malformed.message, /^The body is not valid JSON: line 1, column 2: /)
})
