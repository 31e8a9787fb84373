// Replaying a recorded call: POST /hook-requests/{id}/replay.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import {
  assertRejected,
  assertStarted,
  type Hook,
  openCalls,
  type Sending,
  type Sent,
  SIGNED,
  withVariables,
} from '#test/support/calls.ts'
import { type RequestOptions, TEST_BASE_URL } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, type Person } from '#test/support/world.ts'

const calls = await openCalls({ after })
const { api, db, tree, makeHook, changeHook, removeHook, call, actionsOf, requestsOf, memberWith } = calls

const replay = (requestId: string, { token }: { token: string } = tree.owner, more: RequestOptions = {}) =>
  api.request('POST', `/hook-requests/${requestId}/replay`, { token, ...more })
const newestOf = async (hook: Hook) => (await requestsOf(hook)).at(-1)!
/** Calls a hook, whatever the response; returns the id of the record. */
async function received(hook: Hook, sent: Sent = {}, sending: Sending = {}): Promise<string> {
  await call(hook, sent, sending)
  return (await newestOf(hook)).id
}
const actionOf = async (id: number, { token }: Person = tree.owner) =>
  (await api.request('GET', `/actions/${id}`, { token })).body
/** As it is when the body is older than bodies are kept. */
const removeBody = (id: string) =>
  db
    .updateTable('hook_requests')
    .set({ request_body: null, request_headers: null })
    .where('id', '=', id)
    .execute()

suite('a replay', () => {
  test('starts a new run that is attributed to the user who requested it', async () => {
    const hook = await makeHook({ name: 'Push to main' })
    const first = await call(
      hook,
      { a: 1 },
      { headers: { 'user-agent': 'Sender/1' }, address: '198.51.100.7' },
    )
    const developer = await createMember(db, tree, 'developer')
    const headers = { 'user-agent': 'Browser/1' }
    const answer = await replay(first.body.hook_request_id, developer, { headers, address: '203.0.113.5' })
    const id = assertStarted(answer)
    assert.notEqual(id, first.body.action_id)
    const record = await newestOf(hook)
    assert.deepEqual(answer.body, {
      message: 'The pipeline was started.',
      action_id: id,
      hook_request_id: record.id,
      url_web_permalink: `${TEST_BASE_URL}/app/actions/${id}`,
      errors: null,
    })
    assert.equal(answer.headers['x-gantry-action-id'], String(id))
    const action = await actionOf(id)
    const me = (await api.request('GET', '/users/me', { token: developer.token })).body
    assert.deepEqual(action.triggered_from, {
      origin: 'Browser/1',
      trigger_type: 'hook',
      name: me.name,
      email: me.email,
      ip_address: '203.0.113.5',
      user_id: me.id,
      hook_id: hook.id,
      hook_request_id: record.id,
      hook_parsed_variables: {},
    })
    assert.deepEqual(action.triggered_by_user, me)
    assert.equal(action.status, 'queued')
    assert.equal(await calls.jobsFor(id), 1)
    const untouched = await actionOf(first.body.action_id)
    assert.equal(untouched.triggered_from.user_id, null)
  })

  test('stores a record that refers to the call, with the same headers and bytes', async () => {
    const hook = await makeHook(SIGNED)
    const text = '{ "größe": 1.10 }'
    const first = await received(hook, text, { headers: { 'x-custom': 'a, b' }, address: '198.51.100.7' })
    const answer = await replay(first, tree.owner, { address: '203.0.113.5' })
    const [original, record] = await requestsOf(hook)
    assert.equal(record!.retry_of, first)
    assert.equal(record!.outcome, 'accepted')
    assert.equal(record!.action_id, assertStarted(answer))
    assert.equal(record!.ip_address, '203.0.113.5')
    assert.deepEqual(record!.request_body, Buffer.from(text))
    assert.deepEqual(record!.request_headers, original!.request_headers)
    assert.equal(record!.url, original!.url)
    assert.equal(original!.retry_of, null)
    const shown = await api.request('GET', `/hook-requests/${record!.id}`, { token: tree.owner.token })
    assert.equal(shown.body.retry_of, first)
    const again = await replay(record!.id)
    assertStarted(again)
    assert.equal((await newestOf(hook)).retry_of, record!.id, 'of the one that was replayed')
  })

  test('uses the hook and the pipeline as they are today', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'branch', path: 'ref' }), at)
    const first = await received(hook, { ref: 'refs/heads/main', other: 'refs/tags/v2' })
    await changeHook(hook, withVariables({ name: 'tag', path: 'other' }), at)
    await db.deleteFrom('application_servers').where('server_id', '=', at.serverIds[0]!).execute()
    const action = await actionOf(assertStarted(await replay(first, at.owner)), at.owner)
    assert.deepEqual(action.triggered_from.hook_parsed_variables, { tag: 'refs/tags/v2' })
    assert.equal(action.action_data.deployment.source_ref, 'v2')
    assert.deepEqual(
      action.targets.map((target: { resource_id: number }) => target.resource_id),
      [at.serverIds[1]],
    )
  })

  test('needs no signature, neither with the old secret nor with the current one', async () => {
    const hook = await makeHook(SIGNED)
    const first = await received(hook)
    const url = `/hooks/incoming/${hook.id}/rotate-secret`
    await api.request('POST', url, { token: tree.owner.token, body: { overlap_seconds: 0 } })
    assertStarted(await replay(first))
    await changeHook(hook, { secret_header_name: 'X-Other', secret_algorithm: 'sha512' })
    assertStarted(await replay(first))
  })

  test('is never a duplicate, however often it is requested, and causes none', async () => {
    const hook = await makeHook()
    const once = { headers: { 'idempotency-key': 'once' } }
    const first = await call(hook, {}, once)
    const copy = await call(hook, {}, once)
    const ids = [first.body.hook_request_id, first.body.hook_request_id, copy.body.hook_request_id]
    for (const id of ids) assertStarted(await replay(id))
    assert.equal((await actionsOf(hook)).length, 4)
    const later = await call(hook, {}, once)
    assert.equal(later.body.action_id, first.body.action_id, 'the first call keeps its claim')
  })

  test('claims no idempotency key: the call itself can still start a run', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const once = { headers: { 'idempotency-key': 'once' } }
    await calls.archive(at)
    const first = await received(hook, {}, once)
    await calls.archive(at, null)
    assertStarted(await replay(first, at.owner))
    assertStarted(await call(hook, {}, once))
  })

  test('works while the hook is disabled: a user requests it, not a sender', async () => {
    const hook = await makeHook()
    const first = await received(hook)
    await changeHook(hook, { active: false })
    assertStarted(await replay(first))
  })

  test('does not count against the rate limit of the hook', async () => {
    const hook = await makeHook({ settings: { rate_limit: { per_second: 1, burst: 1 } } })
    const first = await received(hook)
    for (let n = 0; n < 3; n += 1) assertStarted(await replay(first))
  })
})

suite('a replay of a call that started nothing', () => {
  test('is evaluated again, and recorded like a call', async () => {
    const hook = await makeHook({
      trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] },
      ...withVariables({ name: 'n', type: 'integer' }),
    })
    const plain = { headers: { 'content-type': 'text/plain' } }
    const ignored = await received(hook, { ref: 'dev' })
    const incomplete = await received(hook, { ref: 'main' })
    const sent: [number, string, string][] = [
      [200, 'ping', await received(hook, {}, { headers: { 'x-github-event': 'ping' } })],
      [200, 'ignored', ignored],
      [422, 'rejected_variables', incomplete],
      [400, 'rejected_payload', await received(hook, '{')],
      [400, 'rejected_payload', await received(hook, '')],
      [415, 'rejected_payload', await received(hook, { ref: 'main', n: 1 }, plain)],
    ]
    for (const [status, outcome, id] of sent) {
      const answer = await replay(id)
      assert.equal(answer.status, status, answer.text)
      const record = await newestOf(hook)
      assert.deepEqual(
        [record.outcome, record.retry_of, record.response_status_code, record.action_id],
        [outcome, id, status, null],
      )
    }
    assert.deepEqual(await actionsOf(hook), [])
    assert.match((await replay(ignored)).body.message, /condition on ref/)
    assert.deepEqual(Object.keys((await replay(incomplete)).body.errors), ['n'])
    await changeHook(hook, { settings: {}, trigger_when: {} })
    for (const id of [ignored, incomplete]) assertStarted(await replay(id))
  })

  test('is 409 while the pipeline cannot run or is busy, and says so in its record', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    await calls.archive(at)
    const first = await received(hook)
    const refused = await replay(first, at.owner)
    assertRejected(refused, 409, 'conflict')
    assert.equal(refused.body.message, 'The environment of the pipeline is archived.')
    await calls.archive(at, null)
    await calls.setPipeline(at, { queue_policy: 'reject' })
    assertStarted(await replay(first, at.owner))
    assertRejected(await replay(first, at.owner), 409, 'conflict')
    const record = await newestOf(hook)
    assert.deepEqual([record.outcome, record.retry_of], ['rejected_state', first])
    assert.equal((await actionsOf(hook)).length, 1)
  })
})

test('a run that a user requested is not superseded by a newer call', async () => {
  const at = await createTestTree(db)
  await calls.setPipeline(at, { queue_policy: 'latest' })
  const hook = await makeHook({}, at)
  const first = await call(hook)
  const wanted = assertStarted(await replay(first.body.hook_request_id, at.owner))
  const newer = assertStarted(await call(hook))
  const statuses = new Map((await actionsOf(hook)).map(({ id, status }) => [id, status]))
  assert.deepEqual(
    [first.body.action_id, wanted, newer].map((id) => statuses.get(id)),
    ['skipped', 'queued', 'queued'],
  )
})

suite('calls that cannot be replayed', () => {
  async function assertNotReplayable(hook: Hook, id: string, reason: RegExp): Promise<void> {
    const before = (await requestsOf(hook)).length
    const answer = await replay(id)
    assertRejected(answer, 409, 'conflict')
    assert.match(answer.body.message, reason)
    assert.equal((await requestsOf(hook)).length, before, 'nothing is recorded')
  }

  test('those with a wrong signature, even if the hook no longer requires one', async () => {
    const hook = await makeHook(SIGNED)
    const id = await received({ ...hook, secret: 'wrong' })
    await assertNotReplayable(hook, id, /signature/)
    await changeHook(hook, { requires_secret: false })
    await assertNotReplayable(hook, id, /signature/)
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('those that were rate limited', async () => {
    const hook = await makeHook({ settings: { rate_limit: { per_second: 1, burst: 1 } } })
    await Promise.all([call(hook), call(hook), call(hook)])
    const limited = (await requestsOf(hook)).find(({ outcome }) => outcome === 'rate_limited')
    await assertNotReplayable(hook, limited!.id, /rate/)
  })

  test('those whose body has been pruned', async () => {
    const hook = await makeHook()
    const id = await received(hook)
    await removeBody(id)
    await assertNotReplayable(hook, id, /no longer stored/)
  })

  test('those of a hook that has been removed', async () => {
    const hook = await makeHook()
    const id = await received(hook)
    await removeHook(hook)
    await assertNotReplayable(hook, id, /removed/)
  })
})

test('a replay requires pipeline:run and access to the call', async () => {
  const hook = await makeHook()
  const id = await received(hook)
  const viewer = await createMember(db, tree, 'viewer')
  const editor = await memberWith('hook:view', 'hook:edit', 'pipeline:view', 'action:run')
  for (const person of [viewer, editor]) assertRejected(await replay(id, person), 403, 'forbidden')
  const blind = await memberWith('pipeline:run', 'hook:edit')
  const outsider = (await createTestTree(db)).owner
  const admin = await createPerson(db, { admin: true })
  for (const person of [blind, outsider, admin]) assertRejected(await replay(id, person), 404, 'not_found')
  assertRejected(await replay(id, { token: 'gty_at_nobody' }), 401, 'unauthenticated')
  assertRejected(await replay(randomUUID()), 404, 'not_found')
  assertRejected(await replay('1'), 422, 'invalid')
  assert.equal((await actionsOf(hook)).length, 1)
  const runner = await memberWith('hook:view', 'pipeline:run')
  assertStarted(await replay(id, runner))
})
