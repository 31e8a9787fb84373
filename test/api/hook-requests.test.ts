// What people can see of calls received and deliveries sent.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import {
  assertRejected as assertRefused,
  assertStarted,
  bytesOf,
  type Hook,
  openCalls,
  SIGNED,
  sign,
  tokenOf,
  withVariables,
} from '#test/support/calls.ts'
import { type Answer, TEST_BASE_URL } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createHookRequest,
  createMember,
  createTestTree,
  grantRole,
} from '#test/support/world.ts'

const { api, db, tree, makeHook, removeHook, call, memberWith, archive } = await openCalls({ after })

const get = (url: string, token = tree.owner.token): Promise<Answer> => api.request('GET', url, { token })
const listOf = ({ id }: { id: string }, query = '') => `/hooks/incoming/${id}/requests${query}`
const idsOf = ({ body }: Answer): string[] => body.map(({ id }: { id: string }) => id)
const outsider = (await createTestTree(db)).owner

async function read(url: string, token?: string) {
  const answer = await get(url, token)
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

/** The newest first. Those of one millisecond have no order in time, but they keep the one that they have. */
async function createRequests(hookId: string, count: number): Promise<string[]> {
  const made = Array.from({ length: count }, () => createHookRequest(db, hookId, 'incoming'))
  return (await Promise.all(made)).sort().reverse()
}

/** The relations of a Link header, with the pages they lead to. */
const pagesOf = ({ headers }: Answer) =>
  Object.fromEntries(
    [...headers.link!.matchAll(/<([^>]+)>; rel="(\w+)"/g)].map(([, url, relation]) => {
      assert.ok(url!.startsWith(TEST_BASE_URL))
      return [relation, Number(new URL(url!).searchParams.get('page'))]
    }),
  )

suite('the list of calls to a hook', () => {
  test('shows the outcome of each, newest first, without headers and bodies', async () => {
    const at = await createTestTree(db)
    const input = { trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] } }
    const hook = await makeHook({ ...SIGNED, ...input, ...withVariables({ name: 'n', type: 'integer' }) }, at)
    const once = { headers: { 'idempotency-key': '1' } }
    const right = { ref: 'main', n: 1 }
    const id = assertStarted(await call(hook, right, once))
    await call(hook, right, once)
    await call(hook, {}, { headers: { 'x-github-event': 'ping' } })
    await call(hook, { ref: 'dev' })
    await call({ ...hook, secret: 'wrong' }, right)
    await call(hook, '{')
    await call(hook, 'x', { headers: { 'content-type': 'text/plain' } })
    await call(hook, { ref: 'main' })
    await archive(at)
    await call(hook, right)
    const listed = await read(listOf(hook), at.owner.token)
    assert.deepEqual(
      listed.map((one: Record<string, unknown>) => [one.outcome, one.response_status_code, one.action_id]),
      [
        ['rejected_state', 409, null],
        ['rejected_variables', 422, null],
        ['rejected_payload', 415, null],
        ['rejected_payload', 400, null],
        ['rejected_signature', 403, null],
        ['ignored', 200, null],
        ['ping', 200, null],
        ['duplicate', 200, id],
        ['accepted', 202, id],
      ],
    )
    const { id: requestId, created_at, updated_at, duration_ms, ...accepted } = listed.at(-1)
    assert.deepEqual(accepted, {
      hook_id: hook.id,
      action_id: id,
      retry_of: null,
      ip_address: '192.0.2.1',
      url: `${TEST_BASE_URL}/hooks/********/trigger`,
      response_status_code: 202,
      type: 'incoming',
      method: 'POST',
      outcome: 'accepted',
      next_attempt_at: null,
      attempt: null,
      error: null,
      capture_error: null,
      event: null,
      deployment_type: 'deploy',
    })
    assert.ok(requestId && created_at && updated_at && Number.isInteger(duration_ms))
  })

  test('is paginated, with links to the other pages', async () => {
    const hook = await makeHook()
    const ids = await createRequests(hook.id, 7)
    const page = (number: number) => get(listOf(hook, `?per_page=3&page=${number}`))
    const expected: [string[], Record<string, number>][] = [
      [ids.slice(0, 3), { first: 1, next: 2, last: 3 }],
      [ids.slice(3, 6), { first: 1, prev: 1, next: 3, last: 3 }],
      [ids.slice(6), { first: 1, prev: 2, last: 3 }],
      [[], { first: 1, prev: 3, last: 3 }],
    ]
    for (const [index, [found, pages]] of expected.entries()) {
      const answer = await page(index + 1)
      assert.equal(answer.status, 200)
      assert.deepEqual(idsOf(answer), found)
      assert.deepEqual(pagesOf(answer), pages)
      assert.equal(answer.headers['x-total-count'], '7')
    }
    assert.deepEqual(idsOf(await get(listOf(hook))), ids)
    const empty = await get(listOf(await makeHook()))
    assert.deepEqual([empty.body, empty.headers['x-total-count']], [[], '0'])
  })

  test('has 25 per page by default, at most 100, and accepts no other parameters', async () => {
    const hook = await makeHook()
    await createRequests(hook.id, 26)
    assert.equal((await read(listOf(hook))).length, 25)
    assert.equal((await read(listOf(hook, '?per_page=100'))).length, 26)
    for (const query of [
      'page=0',
      'per_page=0',
      'per_page=101',
      'page=x',
      'page=1&page=2',
      'outcome=accepted',
    ])
      assertRefused(await get(listOf(hook, `?${query}`)), 422, 'invalid')
  })

  test('beyond 10,000 the total is no longer exact, and there is no last page', async () => {
    const hook = await makeHook()
    await sql`
      insert into hook_requests (id, hook_id, type, url, method, outcome)
      select uuidv7(), ${hook.id}, 'incoming', 'x:', 'POST', 'accepted' from generate_series(1, 10001)`.execute(
      db,
    )
    const answer = await get(listOf(hook, '?page=100&per_page=100'))
    assert.equal(answer.body.length, 100)
    assert.equal(answer.headers['x-total-count'], '10000+')
    assert.deepEqual(pagesOf(answer), { first: 1, prev: 99, next: 101 })
    assert.equal((await read(listOf(hook, '?page=101&per_page=100'))).length, 1)
  })

  test('contains only calls of that hook and type', async () => {
    const [hook, other] = [await makeHook(), await makeHook()]
    const outgoing = await createHook(db, tree, 'outgoing')
    const [id] = await createRequests(hook.id, 1)
    await createRequests(other.id, 1)
    const delivery = await createHookRequest(db, outgoing, 'outgoing', { response_status_code: 500 })
    assert.deepEqual(idsOf(await get(listOf(hook))), [id])
    assert.deepEqual(idsOf(await get(`/hooks/outgoing/${outgoing}/requests`)), [delivery])
    assertRefused(await get(`/hooks/outgoing/${hook.id}/requests`), 404, 'not_found')
    assertRefused(await get(listOf({ id: outgoing })), 404, 'not_found')
  })

  test('requires hook:view; without it the hook does not exist', async () => {
    const hook = await makeHook()
    await createRequests(hook.id, 1)
    const viewing = await memberWith('hook:view')
    assert.equal((await read(listOf(hook), viewing.token)).length, 1)
    const blind = await memberWith('hook:edit', 'action:view', 'pipeline:view', 'pipeline:run')
    for (const { token } of [blind, outsider]) assertRefused(await get(listOf(hook), token), 404, 'not_found')
    assertRefused(await get(listOf({ id: randomUUID() })), 404, 'not_found')
    assertRefused(await get(listOf({ id: '1' })), 422, 'invalid')
    await removeHook(hook)
    assertRefused(await get(listOf(hook)), 404, 'not_found')
  })
})

suite('one call', () => {
  /** Of the newest one of a hook. */
  const urlOf = async (hook: Hook) => `/hook-requests/${(await read(listOf(hook)))[0].id}`
  const detailOf = async (hook: Hook) => read(await urlOf(hook))

  test('is shown with its headers and its exact body', async () => {
    const hook = await makeHook()
    const text = '{ "größe": 1.10,\r\n "nul": "\\u0000" }'
    await call(hook, text, { headers: { 'x-custom': 'a, b' } })
    const { request_headers, request_body, request_body_encoding, ...record } = await detailOf(hook)
    assert.equal(request_headers['x-custom'], 'a, b')
    assert.equal(request_headers['content-type'], 'application/json')
    assert.equal(request_body, text)
    assert.equal(request_body_encoding, 'utf-8')
    const [listed] = await read(listOf(hook))
    const answered = { response_headers: null, response_body: null, response_body_encoding: 'utf-8' }
    const measured = { signature_problem: null, body_bytes: Buffer.byteLength(text) }
    assert.deepEqual(record, { ...listed, ...answered, ...measured })
    await call(hook, `\uFEFF${text}`)
    assert.equal((await detailOf(hook)).request_body, `\uFEFF${text}`, 'with its byte order mark')
  })

  test('with a binary body is shown in base64', async () => {
    const hook = await makeHook()
    const bytes = Buffer.from([0x7b, 0xff, 0x00, 0xed, 0xa0, 0x80])
    await call(hook, bytes)
    const detail = await detailOf(hook)
    assert.deepEqual(
      [detail.request_body, detail.request_body_encoding],
      [bytes.toString('base64'), 'base64'],
    )
  })

  test('shows the response to its sender', async () => {
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }))
    const answer = await call(hook, { n: 'x' })
    const { response_body, response_body_encoding } = await detailOf(hook)
    assert.deepEqual(JSON.parse(response_body), { errors: answer.body.errors })
    assert.equal(response_body_encoding, 'utf-8')
  })

  test('shows headers and bodies only with hook:edit in its scope', async () => {
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }))
    await call(hook, { n: 'x' })
    const [listed] = await read(listOf(hook))
    const url = `/hook-requests/${listed.id}`
    const place = { organizationId: tree.organizationId, projectId: tree.projectId }
    const elsewhere = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const neighbor = await createMember(db, tree, 'viewer')
    await grantRole(db, neighbor.id, 'developer', { ...place, environmentId: elsewhere.environmentId })
    const everythingElse = await memberWith(
      'hook:view',
      'hook:add',
      'hook:remove',
      'pipeline:run',
      'pipeline:edit',
    )
    const viewer = await createMember(db, tree, 'viewer')
    const hidden = {
      signature_problem: null,
      body_bytes: null,
      request_headers: null,
      request_body: null,
      request_body_encoding: 'utf-8',
      response_headers: null,
      response_body: null,
      response_body_encoding: 'utf-8',
    }
    for (const { token } of [neighbor, everythingElse, viewer])
      assert.deepEqual(await read(url, token), { ...listed, ...hidden })
    const here = await createMember(db, tree, 'viewer')
    await grantRole(db, here.id, 'developer', { ...place, environmentId: tree.environmentId })
    for (const { token } of [here, await memberWith('hook:view', 'hook:edit')]) {
      const detail = await read(url, token)
      assert.equal(detail.request_body, '{"n":"x"}')
      assert.ok(detail.request_headers && detail.response_body)
    }
  })

  test('never shows the token of the URL, nor a header that contains a secret', async () => {
    const secret = 'the-token-of-a-sender'
    const input = { secret, secret_header_name: 'X-Token', settings: { signature: { scheme: 'token' } } }
    const hook = await makeHook({ ...SIGNED, ...input })
    const headers = { authorization: 'Bearer hush', cookie: 'a=hush', 'x-token': secret, 'x-seen': 'y' }
    assertStarted(await call({ ...hook, secret: null }, {}, { headers }))
    const { text, body } = await get(await urlOf(hook))
    for (const word of [secret, 'hush', tokenOf(hook)]) assert.ok(!text.includes(word), word)
    const { authorization, cookie, 'x-token': token, 'x-seen': seen } = body.request_headers
    assert.deepEqual([authorization, cookie, token, seen], ['********', '********', '********', 'y'])
  })

  test('masks the secrets of its hook by value, wherever the sender repeats them, and is stored unchanged', async () => {
    const hook = await makeHook({ ...SIGNED, secret: 'of "quotes" & more' })
    const rotated = await api.request('POST', `/hooks/incoming/${hook.id}/rotate-secret`, {
      token: tree.owner.token,
      body: {},
    })
    const current = rotated.body.secret
    const sent = { config: { url: hook.url, secret: hook.secret }, note: `now ${current}.` }
    assertStarted(await call(hook, sent, { headers: { referer: hook.url, 'x-debug': `k=${current}` } }))
    const detail = await detailOf(hook)
    const url = hook.url.replace(tokenOf(hook), '********')
    assert.deepEqual(JSON.parse(detail.request_body), {
      config: { url, secret: '********' },
      note: 'now ********.',
    })
    assert.deepEqual([detail.request_headers.referer, detail.request_headers['x-debug']], [url, 'k=********'])
    await call(hook, Buffer.concat([Buffer.from([0xff]), Buffer.from(tokenOf(hook))]))
    const { request_body, request_body_encoding } = await detailOf(hook)
    assert.equal(request_body_encoding, 'base64')
    assert.equal(Buffer.from(request_body, 'base64').toString('latin1'), '\xff********')
    const { body } = await api.request('POST', `/hook-requests/${detail.id}/replay`, {
      token: tree.owner.token,
    })
    const stored = await db
      .selectFrom('hook_requests')
      .selectAll()
      .where('id', '=', body.hook_request_id)
      .execute()
    assert.deepEqual(stored[0]!.request_body, bytesOf(sent), 'a replay gets the bytes of the sender')
  })

  test('that was rejected for its signature has neither headers nor body', async () => {
    const hook = await makeHook(SIGNED)
    await call({ ...hook, secret: 'wrong' }, { a: 1 }, { address: '198.51.100.9' })
    const detail = await detailOf(hook)
    assert.equal(detail.outcome, 'rejected_signature')
    assert.equal(detail.ip_address, '198.51.100.9')
    assert.deepEqual([detail.request_headers, detail.request_body, detail.response_body], [null, null, null])
  })

  test('that was rejected for its signature tells users with hook:edit why, and nobody else', async () => {
    const hook = await makeHook(SIGNED)
    const body = '{ "a": 1 }'
    const right = sign(hook.secret!, body)
    const problems = {
      header_missing: undefined,
      prefix: right.replace('sha256', 'sha512'),
      encoding: right.slice(0, -1),
      mismatch: sign('0'.repeat(64), body),
    }
    const viewer = await createMember(db, tree, 'viewer')
    const texts = new Set<string>()
    for (const [problem, signature] of Object.entries(problems)) {
      const answer = await call(hook, body, { headers: { 'x-hub-signature-256': signature } })
      texts.add(JSON.stringify({ ...answer.body, request_id: '' }))
      const { signature_problem, body_bytes, request_body } = await detailOf(hook)
      assert.deepEqual([signature_problem, body_bytes, request_body], [problem, body.length, null])
      const hidden = await read(await urlOf(hook), viewer.token)
      assert.deepEqual([hidden.signature_problem, hidden.body_bytes], [null, null])
    }
    assert.equal(texts.size, 1)
  })

  test('that is older than recorded sizes has the size of its stored body', async () => {
    const hook = await makeHook()
    const { body } = await call(hook, { a: 1 })
    const id = body.hook_request_id
    const change = (values: object) =>
      db.updateTable('hook_requests').set(values).where('id', '=', id).execute()
    await change({ body_bytes: null })
    assert.equal((await detailOf(hook)).body_bytes, '{"a":1}'.length)
    await change({ request_body: null })
    assert.equal((await detailOf(hook)).body_bytes, null)
  })

  test('remains when its hook is removed, and is 404 for outsiders', async () => {
    const hook = await makeHook()
    await call(hook)
    const url = await urlOf(hook)
    await removeHook(hook)
    assert.equal((await read(url)).hook_id, hook.id)
    const blind = await memberWith('hook:edit', 'pipeline:run', 'action:view')
    for (const { token } of [blind, outsider]) assertRefused(await get(url, token), 404, 'not_found')
    assertRefused(await get(`/hook-requests/${randomUUID()}`), 404, 'not_found')
    assertRefused(await get('/hook-requests/1'), 422, 'invalid')
    assertRefused(await get(url, 'gty_at_nobody'), 401, 'unauthenticated')
  })

  test('can be a delivery', async () => {
    const made = await api.request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
      token: tree.owner.token,
      body: { name: 'Tell', target_url: 'https://example.com/' },
    })
    const outgoing: string = made.body.id
    const first = await createHookRequest(db, outgoing, 'outgoing')
    const next_attempt_at = '2026-11-15T08:00:00.000Z'
    const id = await createHookRequest(db, outgoing, 'outgoing', {
      retry_of: first,
      outcome: 'refused',
      attempt: 2,
      error: 'It would not.',
      capture_error: null,
      response_status_code: 503,
      request_headers: JSON.stringify({ 'content-type': 'application/json' }),
      request_body: Buffer.from('{}'),
      response_headers: JSON.stringify({ 'retry-after': '5' }),
      response_body: Buffer.from('busy'),
      duration_ms: 12,
      next_attempt_at,
    })
    const { created_at: _, updated_at: __, ...shown } = await read(`/hook-requests/${id}`)
    const { signature_problem, body_bytes, ...detail } = shown
    assert.deepEqual([signature_problem, body_bytes], [null, null])
    assert.deepEqual(detail, {
      id,
      hook_id: outgoing,
      action_id: null,
      retry_of: first,
      ip_address: null,
      url: 'https://example.com/',
      response_status_code: 503,
      type: 'outgoing',
      method: 'POST',
      outcome: 'refused',
      attempt: 2,
      error: 'It would not.',
      capture_error: null,
      event: null,
      deployment_type: null,
      duration_ms: 12,
      next_attempt_at,
      request_headers: { 'content-type': 'application/json' },
      request_body: '{}',
      request_body_encoding: 'utf-8',
      response_headers: { 'retry-after': '5' },
      response_body: 'busy',
      response_body_encoding: 'utf-8',
    })
  })
})

suite('the requests about an action', () => {
  const about = (id: number, query = '') => `/actions/${id}/hook-requests${query}`

  test('are the call that triggered it, its duplicates, and its deliveries, newest first', async () => {
    const hook = await makeHook()
    const once = { headers: { 'idempotency-key': '1' } }
    const started = await call(hook, {}, once)
    const copy = await call(hook, {}, once)
    await call(hook)
    const id = assertStarted(started)
    const outgoing = await createHook(db, tree, 'outgoing')
    const delivery = await createHookRequest(db, outgoing, 'outgoing', { action_id: id })
    const answer = await get(about(id))
    const ids = [delivery, copy.body.hook_request_id, started.body.hook_request_id]
    assert.deepEqual(idsOf(answer), ids)
    assert.equal(answer.headers['x-total-count'], '3')
    const page = await get(about(id, '?per_page=1&page=2'))
    assert.deepEqual(idsOf(page), [ids[1]])
    assert.deepEqual(pagesOf(page), { first: 1, prev: 1, next: 3, last: 3 })
    assert.deepEqual(Object.keys(answer.body[0]), Object.keys((await read(listOf(hook)))[0]))
  })

  test('are empty for an action that a person started', async () => {
    assert.deepEqual(await read(about(await createAction(db, tree))), [])
  })

  test('require action:view and hook:view', async () => {
    const id = assertStarted(await call(await makeHook()))
    const both = await memberWith('action:view', 'hook:view')
    assert.equal((await read(about(id), both.token)).length, 1)
    const { token } = await memberWith('action:view')
    assertRefused(await get(about(id), token), 403, 'forbidden')
    const blind = await memberWith('hook:view', 'hook:edit')
    for (const one of [blind, outsider]) assertRefused(await get(about(id), one.token), 404, 'not_found')
    assertRefused(await get(about(Number.MAX_SAFE_INTEGER)), 404, 'not_found')
    assertRefused(await get('/actions/0/hook-requests'), 422, 'invalid')
  })
})
