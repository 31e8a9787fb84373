import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileRequests } from '#model/hooks/compile-requests.ts'
import { afterAnswer } from './after-answer.ts'
import { chooseRequest, idempotencyKey, NOTHING_CAPTURED, type RequestKind } from './choose-request.ts'
import type { CaptureRule } from './read-captures.ts'
import { nextAttempt } from './retry-schedule.ts'

const capture: CaptureRule[] = [{ name: 'id', path: 'id', type: 'string', required: true, hidden: false }]
const URL = 'https://chat.example/messages'

function hookWith(more: { update_after_create?: boolean } = {}) {
  const requests = {
    create: { target_url: URL },
    update: { target_url: `${URL}/{{ captured.id }}` },
    ...more,
  }
  const compiled = compileRequests({ target_url: URL, settings: { capture, requests } })
  assert.ok(compiled.kind === 'compiled')
  return { requests: compiled.requests, capture }
}

const KNOWN = { values: { id: 'm-1' }, isRecreated: false }

function after(
  which: RequestKind,
  status: number,
  {
    body = '{"id":"m-1"}',
    captured = which === 'update' ? KNOWN : NOTHING_CAPTURED,
    attempt = 1,
    hook = hookWith(),
  } = {},
) {
  const answer = {
    kind: 'answered' as const,
    status,
    headers: {},
    body: Buffer.from(body),
    retryAfter: null,
    ipAddress: null,
    durationMs: 1,
  }
  const result = { kind: 'answered' as const, status, retryAfter: null, now: new Date() }
  return afterAnswer(hook, which, captured, result, nextAttempt(result, attempt, 0.5), answer)
}

test('a hook creates until every required value is known, then it updates', () => {
  const hook = hookWith()
  assert.equal(chooseRequest(hook.requests, hook, NOTHING_CAPTURED).kind, 'create')
  assert.equal(
    chooseRequest(hook.requests, hook, { values: { other: 1 }, isRecreated: false }).kind,
    'create',
  )
  assert.equal(chooseRequest(hook.requests, hook, KNOWN).kind, 'update')
})

test('a success keeps its values; without them it is delivered anyway', () => {
  assert.deepEqual(after('create', 200), {
    next: { kind: 'delivered' },
    captured: KNOWN,
    captureError: null,
    isGone: false,
  })
  const without = after('create', 200, { body: 'ok' })
  assert.equal(without.next.kind, 'delivered')
  assert.equal(without.captured, null)
  assert.match(without.captureError!, /not JSON/)
  assert.equal(after('create', 500).captured, null)
  assert.equal(after('update', 200).captured, null, 'nothing new')
  assert.deepEqual(after('update', 200, { body: '{"id":"m-2"}' }).captured?.values, { id: 'm-2' })
})

test('what an update does not find is created once more, once', () => {
  for (const gone of [after('update', 410), after('update', 404, { attempt: 3 })]) {
    assert.deepEqual(gone.next, { kind: 'continued' })
    assert.deepEqual(gone.captured, { values: {}, isRecreated: true })
  }
  assert.equal(after('update', 404).next.kind, 'retry', 'it may only be not yet there')
  assert.equal(after('create', 410).next.kind, 'failed')
  const again = after('update', 410, { captured: { ...KNOWN, isRecreated: true } })
  assert.equal(again.next.kind, 'failed')
  assert.equal(again.captured, null)
})

test('an update follows immediately if another delivery may have created what the receiver returned', () => {
  const mayExist = { ...NOTHING_CAPTURED, mayExist: true }
  const found = after('create', 200, { captured: mayExist })
  assert.deepEqual([found.next, found.captured], [{ kind: 'continued' }, KNOWN])
  assert.equal(after('create', 200, { captured: mayExist, body: '{}' }).next.kind, 'delivered')
})

test('an update follows immediately if the hook asks for it and something was created', () => {
  const hook = hookWith({ update_after_create: true })
  assert.equal(after('create', 200, { hook }).next.kind, 'continued')
  assert.equal(after('create', 200, { hook, body: '{}' }).next.kind, 'delivered')
  assert.equal(after('update', 200, { hook }).next.kind, 'delivered')
})

test('every attempt to create has the same key, whichever delivery makes it', () => {
  const key = (kind: RequestKind, deliveryId: string, isRecreated = false) =>
    idempotencyKey('hook', kind, { actionId: 1, deliveryId, isRecreated })
  assert.equal(key('create', 'a'), key('create', 'b'))
  assert.notEqual(key('create', 'a'), key('create', 'a', true))
  assert.notEqual(key('update', 'a'), key('update', 'b'))
  assert.notEqual(key('update', 'a'), key('create', 'a'))
  assert.match(key('create', 'a'), /^[\w-]{22}$/)
})
