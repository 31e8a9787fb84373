// Calls to incoming hooks, from the request to everything that is stored of it.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import type { Database } from '#database/connect.ts'
import { OverloadError } from '#incoming/intake.ts'
import { receiveCall } from '#incoming/receive-call.ts'
import { DEPLOY_STEPS } from '#pipelines/built-in-steps.ts'
import { administer } from './database.ts'
import { type Answer, openTestApp, TEST_BASE_URL, type TestApp } from './harness.ts'
import { createAction, createHookRequest, createTestTree, type TestTree } from './world.ts'

const api = await openTestApp({ after })
const { db } = api
const tree = await createTestTree(db)

type Hook = { id: string; url: string; secret: string | null }
type Sent = string | Buffer | object

async function makeHook(wish: object = {}, at: TestTree = tree, by: TestApp = api): Promise<Hook> {
  const url = `/pipelines/${at.pipelineId}/hooks/incoming`
  const { status, body, text } = await by.request('POST', url, {
    token: at.owner.token,
    body: { name: 'Push', ...wish },
  })
  assert.equal(status, 201, text)
  return body
}
const SIGNED = { requires_secret: true }
const withVariables = (...variables: object[]) => ({
  settings: { variables: variables.map((one) => ({ type: 'string', required: true, ...one })) },
})
const changeHook = async ({ id }: Hook, body: object, at = tree, by = api) => {
  const answer = await by.request('PUT', `/hooks/incoming/${id}`, { token: at.owner.token, body })
  assert.equal(answer.status, 200, answer.text)
}

const pathOf = (hook: Hook) => new URL(hook.url).pathname
const bytesOf = (sent: Sent) =>
  Buffer.from(typeof sent === 'string' || Buffer.isBuffer(sent) ? (sent as string) : JSON.stringify(sent))
const sign = (secret: string, sent: Sent) =>
  `sha256=${createHmac('sha256', secret).update(bytesOf(sent)).digest('hex')}`

type Sending = { headers?: Record<string, string | undefined>; address?: string; by?: TestApp }

/** A call as a sender makes it, signed when the hook has a secret. A header that is undefined is not sent. */
function call(hook: Hook, sent: Sent = {}, { by = api, address, ...more }: Sending = {}): Promise<Answer> {
  const signature = hook.secret === null ? undefined : sign(hook.secret, sent)
  const all = { 'content-type': 'application/json', 'x-hub-signature-256': signature, ...more.headers }
  const headers = Object.entries(all).filter((header): header is [string, string] => header[1] !== undefined)
  return by.request('POST', pathOf(hook), {
    rawBody: bytesOf(sent),
    headers: Object.fromEntries(headers),
    address,
  })
}

const actionsOf = (hook: Hook, at: Database = db) =>
  at.selectFrom('actions').selectAll().where('hook_id', '=', hook.id).orderBy('id').execute()
const requestsOf = (hook: Hook, at: Database = db) =>
  at.selectFrom('hook_requests').selectAll().where('hook_id', '=', hook.id).orderBy('id').execute()
const outcomesOf = async (hook: Hook) => (await requestsOf(hook)).map(({ outcome }) => outcome)
const setPipeline = (at: TestTree, values: object) =>
  db.updateTable('pipelines').set(values).where('id', '=', at.pipelineId).execute()

function assertStarted(answer: Answer): number {
  assert.equal(answer.status, 202, answer.text)
  return answer.body.action_id
}
function assertRefused(answer: Answer, status: number, code: string): void {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.body.code, code)
  assert.equal(answer.headers['x-gantry-action-id'], undefined)
}

suite('an accepted call', () => {
  test('is answered when all that it starts is stored, and says where to look', async () => {
    const hook = await makeHook()
    const answer = await call(hook, { ref: 'main' })
    const id = assertStarted(answer)
    assert.deepEqual(answer.body, {
      message: 'The pipeline was started.',
      action_id: id,
      hook_request_id: (await requestsOf(hook))[0]!.id,
      url_web_permalink: `${TEST_BASE_URL}/app/actions/${id}`,
      errors: null,
    })
    assert.equal(answer.headers['x-gantry-action-id'], String(id))
  })

  test('starts an action of the pipeline on every server with every step', async () => {
    const hook = await makeHook({
      ...withVariables({ name: 'branch', path: 'ref' }, { name: 'count', type: 'integer', default_value: 7 }),
      name: 'Push to main',
    })
    const sent = await call(hook, { ref: 'refs/heads/feature/x' }, { headers: { 'user-agent': 'Sender/1' } })
    const id = assertStarted(sent)
    const { body } = await api.request('GET', `/actions/${id}`, { token: tree.owner.token })
    assert.equal(body.status, 'queued')
    assert.equal(body.status_reason_code, 'QUEUED')
    assert.equal(body.type, 'deploy')
    assert.equal(body.pipeline_id, tree.pipelineId)
    assert.equal(body.environment.id, tree.environmentId)
    assert.deepEqual(body.triggered_from, {
      origin: 'Sender/1',
      trigger_type: 'hook',
      name: 'Push to main',
      email: null,
      ip_address: '192.0.2.1',
      user_id: null,
      hook_id: hook.id,
      hook_request_id: sent.body.hook_request_id,
      hook_parsed_variables: { branch: 'refs/heads/feature/x', count: 7 },
    })
    assert.equal(body.triggered_by_user, null)
    assert.equal(body.action_data.commit, null)
    assert.deepEqual(body.action_data.deployment, {
      type: 'deploy',
      source_type: 'branch',
      source_ref: 'feature/x',
      repository: 'https://github.com/acme/shop.git',
      provider_name: 'github',
      pipeline_id: tree.pipelineId,
    })
    assert.equal(body.hook_requests.incoming.id, sent.body.hook_request_id)
    assert.equal(body.hook_requests.incoming.action_id, id)
    assert.equal(body.hook_requests.incoming.response_status_code, 202)
    assert.equal(body.hook_requests.outgoing, null)
    assert.deepEqual(
      body.targets.map((target: { resource_id: number }) => target.resource_id),
      tree.serverIds,
    )
    for (const target of body.targets) {
      assert.equal(target.status, 'queued')
      assert.equal(target.total_steps, DEPLOY_STEPS.length)
      assert.equal(target.current_step, null)
      assert.deepEqual(
        target.steps.map(({ name, order, status }: Record<string, unknown>) => [order, name, status]),
        DEPLOY_STEPS.map(({ name }, index) => [index + 1, name, 'pending']),
      )
    }
    assert.deepEqual(body.summary.targets, { count: 2, pending: 2, in_progress: 0, completed: 0, failed: 0 })
  })

  test('leaves a record, an event, and a job that names the action', async () => {
    const hook = await makeHook(SIGNED)
    const text = '{ "größe": 1.10 }'
    const id = assertStarted(await call(hook, text, { headers: { 'x-custom': 'a, b' } }))
    const [record] = await requestsOf(hook)
    assert.equal(record!.outcome, 'accepted')
    assert.equal(record!.action_id, id)
    assert.equal(record!.method, 'POST')
    assert.equal(record!.url, `${TEST_BASE_URL}/hooks/********/trigger`)
    assert.equal(record!.ip_address, '192.0.2.1')
    assert.equal(record!.response_status_code, 202)
    assert.equal(record!.content_type, 'application/json')
    assert.deepEqual(record!.request_body, Buffer.from(text), 'the body to the byte')
    assert.equal(record!.request_headers!['x-custom'], 'a, b')
    const events = await db.selectFrom('events').selectAll().where('action_id', '=', id).execute()
    assert.deepEqual(
      events.map(({ previous_status, status, status_reason_code }) => [
        previous_status,
        status,
        status_reason_code,
      ]),
      [[null, 'queued', 'QUEUED']],
    )
    assert.equal(await jobsFor(id), 1)
  })

  test('works under the id of the hook too when it must be signed', async () => {
    const hook = await makeHook(SIGNED)
    const under = (name: string, signature?: string) =>
      api.request('POST', `/hooks/${name}/trigger`, {
        rawBody: '{}',
        headers: signature === undefined ? {} : { 'x-hub-signature-256': signature },
      })
    assertStarted(await under(hook.id, sign(hook.secret!, '{}')))
    assertStarted(await under(hook.id.toUpperCase(), sign(hook.secret!, '{}')))
    assertRefused(await under(hook.id), 403, 'forbidden')
  })

  test('may come without a type, with any Accept, and from a server pipeline with no application', async () => {
    const hook = await makeHook()
    for (const headers of [{ 'content-type': '' }, { accept: 'text/html' }, { accept: 'image/*;q=0.1' }])
      assertStarted(await call(hook, '{}', { headers }))
    const untyped = await api.app.inject({ method: 'POST', url: pathOf(hook), payload: Buffer.from('{}') })
    assert.equal(untyped.statusCode, 202)
    await db
      .insertInto('pipeline_steps')
      .values({ pipeline_id: tree.serverPipelineId, position: 1, name: 'restart', command: 'true' })
      .execute()
    const restart = await makeHook({}, { ...tree, pipelineId: tree.serverPipelineId })
    const id = assertStarted(await call(restart, {}))
    const { body } = await api.request('GET', `/actions/${id}`, { token: tree.owner.token })
    assert.equal(body.type, 'restart')
    assert.equal(body.targets.length, 1)
    assert.deepEqual(body.action_data, { release_name: null, commit: null, deployment: null })
  })

  test('origin is the Origin header before the User-Agent', async () => {
    const hook = await makeHook()
    await call(hook, {}, { headers: { origin: 'https://a.example', 'user-agent': 'x' } })
    await call(hook, {}, { headers: { 'user-agent': 'x'.repeat(600) } })
    const origins = (await actionsOf(hook)).map(({ origin }) => origin)
    assert.deepEqual(origins, ['https://a.example', 'x'.repeat(512)])
  })
})

suite('the order of decisions', () => {
  const large = Buffer.alloc(1024 * 1024 + 1, 0x20)

  test('size, then the hook, then the signature, then the rate limit, then the payload', async () => {
    const hook = await makeHook({ ...SIGNED, settings: { rate_limit: { per_second: 1, burst: 1 } } })
    const nowhere = { ...hook, url: `${TEST_BASE_URL}/hooks/nowhere/trigger` }
    const wrong = { headers: { 'x-hub-signature-256': 'sha256=00', 'content-type': 'text/plain' } }
    assertRefused(await call(nowhere, large, wrong), 413, 'too_large')
    assertRefused(await call(hook, large, wrong), 413, 'too_large')
    assertRefused(await call(nowhere, '{', wrong), 404, 'not_found')
    assertRefused(await call(hook, '{', wrong), 403, 'forbidden')
    const answers = await Promise.all([call(hook, '{'), call(hook, '{')])
    const [malformed, limited] = answers.toSorted((one, other) => one.status - other.status)
    assertRefused(malformed!, 400, 'malformed')
    assertRefused(limited!, 429, 'too_many_requests')
    const outcomes = new Set(await outcomesOf(hook))
    const expected = new Set(['rejected_signature', 'rejected_payload', 'rate_limited'])
    assert.deepEqual(outcomes, expected, 'no record of 413 and 404')
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('the payload, then a ping, then the conditions, then the variables, then a duplicate, then the state', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(
      {
        ...withVariables({ name: 'n', type: 'integer' }),
        trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] },
      },
      at,
    )
    const ping = { headers: { 'x-github-event': 'ping' } }
    const once = { headers: { 'idempotency-key': 'once' } }
    assertRefused(await call(hook, '{', ping), 400, 'malformed')
    assert.match((await call(hook, {}, ping)).body.message, /^Pong/)
    assert.match((await call(hook, {})).body.message, /condition on ref/)
    assertRefused(await call(hook, { ref: 'main' }), 422, 'invalid')
    const id = assertStarted(await call(hook, { ref: 'main', n: 1 }, once))
    await db
      .updateTable('environments')
      .set({ archived_at: new Date() })
      .where('id', '=', at.environmentId)
      .execute()
    assert.equal((await call(hook, { ref: 'main', n: 1 }, once)).body.action_id, id)
    assertRefused(await call(hook, { ref: 'main', n: 1 }), 409, 'conflict')
    await changeHook(hook, withVariables({ name: 'more' }), at)
    assertRefused(await call(hook, { ref: 'main', n: 1 }, once), 422, 'invalid')
    assert.deepEqual(await outcomesOf(hook), [
      'rejected_payload',
      'ping',
      'ignored',
      'rejected_variables',
      'accepted',
      'duplicate',
      'rejected_state',
      'rejected_variables',
    ])
  })
})

suite('calls that start nothing', () => {
  test('a ping is answered 200 and recorded', async () => {
    const hook = await makeHook(SIGNED)
    const answer = await call(
      hook,
      { zen: 'Keep it logically awesome.' },
      { headers: { 'x-github-event': 'ping' } },
    )
    assert.equal(answer.status, 200)
    assert.deepEqual(answer.body, {
      message: 'Pong. The hook is ready; nothing was started.',
      action_id: null,
      hook_request_id: (await requestsOf(hook))[0]!.id,
      url_web_permalink: null,
      errors: null,
    })
    assert.equal(answer.headers['x-gantry-action-id'], undefined)
    assert.deepEqual(await outcomesOf(hook), ['ping'])
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('unmet conditions are answered 200, and the first one is named', async () => {
    const conditions = [
      { path: 'ref', accepted_values: ['refs/heads/main', 'refs/heads/next'] },
      { path: 'commits.0["a.b"]', accepted_values: [1, null, { x: [true], y: '' }] },
    ]
    const hook = await makeHook({ trigger_when: { conditions } })
    const unmet = async (sent: object) => {
      const { status, body } = await call(hook, sent)
      assert.equal(status, 200)
      assert.equal(body.action_id, null)
      return body.message
    }
    const named = (path: string) => `Nothing was started: the condition on ${path} is not met.`
    assert.equal(await unmet({}), named('ref'))
    assert.equal(await unmet({ ref: ['refs/heads/main'] }), named('ref'))
    assert.equal(await unmet({ ref: 'refs/heads/main' }), named('commits.0["a.b"]'))
    assert.equal(
      await unmet({ ref: 'refs/heads/main', commits: [{ 'a.b': '1' }] }),
      named('commits.0["a.b"]'),
    )
    assertStarted(await call(hook, { ref: 'refs/heads/next', commits: [{ 'a.b': { y: '', x: [true] } }] }))
    assertStarted(await call(hook, '{"ref":"refs/heads/main","commits":[{"a.b":1.0}]}'))
    const records = await requestsOf(hook)
    assert.deepEqual(JSON.parse(records[0]!.response_body!.toString()), {
      message: 'The condition on ref is not met.',
    })
  })
})

suite('who may call', () => {
  test('a signature that is missing or wrong in any way is 403 with one text, and no action', async () => {
    const hook = await makeHook(SIGNED)
    const body = '{"a":1}'
    const right = sign(hook.secret!, body)
    const digest = right.split('=')[1]!
    const wrong = [
      undefined,
      '',
      'sha256=',
      digest.slice(1),
      `sha512=${digest}`,
      `sha1=${digest}`,
      hook.secret!,
    ]
    wrong.push(
      sign('0'.repeat(64), body),
      sign(hook.secret!, '{"a":2}'),
      `${right}00`,
      `Bearer ${hook.secret}`,
    )
    const texts = new Set<string>()
    for (const [n, signature] of wrong.entries()) {
      const answer = await call(hook, body, { headers: { 'x-hub-signature-256': signature } })
      assertRefused(answer, 403, 'forbidden')
      texts.add(JSON.stringify({ ...answer.body, request_id: '' }))
      assert.equal((await requestsOf(hook)).length, n + 1)
    }
    assert.equal(texts.size, 1)
    assert.deepEqual(await actionsOf(hook), [])
    for (const record of await requestsOf(hook)) {
      assert.equal(record.outcome, 'rejected_signature')
      assert.equal(record.request_body, null)
      assert.equal(record.request_headers, null)
    }
    assertStarted(await call(hook, body))
  })

  test('a stale timestamp is the same 403', async () => {
    const signature = { scheme: 'timestamp', template: '{timestamp}.{body}' }
    const hook = await makeHook({ ...SIGNED, settings: { signature } })
    const at = (seconds: number) => {
      const time = Math.floor(Date.now() / 1000) + seconds
      const value = createHmac('sha256', hook.secret!).update(`${time}.{}`).digest('hex')
      return call(hook, '{}', { headers: { 'x-hub-signature-256': `t=${time},v1=${value}` } })
    }
    for (const seconds of [-310, 310]) {
      const answer = await at(seconds)
      assertRefused(answer, 403, 'forbidden')
      assert.equal(answer.body.message, 'The signature is missing or wrong.')
    }
    assertStarted(await at(-290))
  })

  test('unknown, inactive, removed and unsigned hooks under their id are 404, all with the same text', async () => {
    const inactive = await makeHook({ ...SIGNED, active: false })
    const open = await makeHook()
    const removed = await makeHook(SIGNED)
    const token = tree.owner.token
    assert.equal((await api.request('DELETE', `/hooks/incoming/${removed.id}`, { token })).status, 204)
    const addresses = [
      pathOf(inactive),
      `/hooks/${inactive.id}/trigger`,
      pathOf(removed),
      `/hooks/${removed.id}/trigger`,
    ]
    addresses.push(`/hooks/${open.id}/trigger`, `/hooks/${randomUUID()}/trigger`, '/hooks/x/trigger')
    addresses.push(
      '/hooks/%00/trigger',
      `/hooks/${'x'.repeat(512)}/trigger`,
      `${pathOf(open).replace('/trigger', 'x')}/trigger`,
    )
    const texts = new Set<string>()
    for (const url of addresses) {
      const headers = { 'x-hub-signature-256': sign(inactive.secret!, '{}') }
      const answer = await api.request('POST', url, { rawBody: '{}', headers })
      assertRefused(answer, 404, 'not_found')
      texts.add(JSON.stringify({ ...answer.body, request_id: '' }))
    }
    assert.equal(texts.size, 1)
    for (const hook of [inactive, open, removed]) {
      assert.deepEqual(await requestsOf(hook), [])
      assert.deepEqual(await actionsOf(hook), [])
    }
    assertStarted(await call(open))
  })

  test('other methods on the address of a hook are 405', async () => {
    const hook = await makeHook()
    for (const method of ['GET', 'PUT', 'DELETE'])
      assertRefused(await api.request(method, pathOf(hook)), 405, 'method_not_allowed')
  })

  test('secrets in headers are masked in the record, and so is the address of the hook', async () => {
    const secret = 'the-token-of-a-sender'
    const signature = { scheme: 'token' }
    const wish = { ...SIGNED, secret, secret_header_name: 'X-Custom-Token', settings: { signature } }
    const hook = await makeHook(wish)
    const hidden = ['authorization', 'cookie', 'x-gitlab-token', 'x-api-key', 'proxy-authorization']
    const headers = Object.fromEntries(hidden.map((name) => [name, `${name} hush`]))
    assertStarted(
      await call(
        { ...hook, secret: null },
        {},
        { headers: { ...headers, 'x-custom-token': secret, 'x-seen': 'y' } },
      ),
    )
    const [record] = await requestsOf(hook)
    for (const name of [...hidden, 'x-custom-token'])
      assert.equal(record!.request_headers![name], '********', name)
    assert.equal(record!.request_headers!['x-seen'], 'y')
    const stored = JSON.stringify(record)
    for (const word of [secret, 'hush', pathOf(hook).split('/')[2]!]) assert.ok(!stored.includes(word), word)
  })

  test('no line of the log carries a secret, a payload or the address of a hook', async (t) => {
    const lines: string[] = []
    const write = (line: Buffer, _encoding: string, done: () => void) => {
      lines.push(String(line))
      done()
    }
    const log = pino({ level: 'trace' }, new Writable({ write }))
    const other = await openTestApp(t, { beside: api, log })
    const hook = await makeHook({ ...SIGNED, ...withVariables({ name: 'n' }) })
    for (const sent of ['{"n":"payload-word"}', '{"m":"payload-word"}', '{"payload-word'])
      await call(hook, sent, { by: other })
    await call({ ...hook, secret: 'x' }, '{"n":"payload-word"}', { by: other })
    assert.equal(lines.length, 4)
    for (const word of ['payload-word', hook.secret!, pathOf(hook).split('/')[2]!])
      assert.ok(!lines.join('').includes(word), word)
  })
})

suite('bad payloads', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test('what is no JSON is 400, recorded, and starts nothing', async () => {
    const hook = await makeHook(withVariables({ name: 'a', required: false }))
    const bodies = [
      '',
      ' ',
      '{',
      '{"a":1,}',
      'NaN',
      '\uFEFF{}',
      "{'a':1}",
      '{"a":1}{"a":2}',
      'a=1',
      nested(200_000),
    ]
    const invalid = [
      Buffer.from([0xff, 0xfe]),
      Buffer.from('{"a":"\xe4"}', 'latin1'),
      Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'),
    ]
    for (const body of [...bodies, ...invalid]) {
      const answer = await call(hook, body)
      assertRefused(answer, 400, 'malformed')
      assert.match(answer.body.message, /^The body is .+\.$/)
    }
    assert.deepEqual(new Set(await outcomesOf(hook)), new Set(['rejected_payload']))
    assert.equal((await requestsOf(hook)).length, bodies.length + invalid.length)
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('a call without any body is 400', async () => {
    const hook = await makeHook()
    assertRefused(await api.request('POST', pathOf(hook)), 400, 'malformed')
  })

  test('a body over the limit is 413 and leaves nothing; one byte less is fine', async () => {
    const hook = await makeHook()
    const most = 1024 * 1024
    assertRefused(await call(hook, `"${'x'.repeat(most - 1)}"`), 413, 'too_large')
    assert.deepEqual(await requestsOf(hook), [])
    assertStarted(await call(hook, `"${'x'.repeat(most - 2)}"`))
  })

  test('another type is 415, recorded with its body, and only told to those who may call', async () => {
    const hook = await makeHook(SIGNED)
    const types = ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'nonsense', 'a/b/c']
    for (const type of types) {
      const headers = { 'content-type': type }
      const answer = await call(hook, '{}', { headers })
      assertRefused(answer, 415, 'unsupported_media_type')
      assertRefused(await call({ ...hook, secret: 'wrong' }, '{}', { headers }), 403, 'forbidden')
      const nowhere = { ...hook, url: `${TEST_BASE_URL}/hooks/nowhere/trigger` }
      assertRefused(await call(nowhere, '{}', { headers }), 404, 'not_found')
    }
    const records = (await requestsOf(hook)).filter(({ outcome }) => outcome === 'rejected_payload')
    assert.deepEqual(
      records.map(({ response_status_code, content_type, request_body }) => [
        response_status_code,
        content_type,
        String(request_body),
      ]),
      types.map((type) => [415, type, '{}']),
    )
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('everything wrong with the variables is told at once in a 422', async () => {
    const hook = await makeHook(
      withVariables(
        { name: 'missing', path: 'a.b' },
        { name: 'number', type: 'integer' },
        { name: 'flag', type: 'boolean' },
        { name: 'list', type: 'array' },
        { name: 'large' },
        { name: 'fine' },
        { name: 'optional', type: 'integer', required: false },
        { name: '__proto__' },
      ),
    )
    const sent = { number: '1.5', flag: 'yes', list: {}, large: 'x'.repeat(65_537), fine: 'x', optional: 'x' }
    const answer = await call(hook, sent)
    assertRefused(answer, 422, 'invalid')
    assert.deepEqual(Object.keys(answer.body.errors).sort(), [
      '__proto__',
      'flag',
      'large',
      'list',
      'missing',
      'number',
      'optional',
    ])
    assert.deepEqual(answer.body.errors.missing, ['is required: nothing stands at a.b in the payload'])
    assert.deepEqual(answer.body.errors.large, ['at large: is longer than 64 KiB'])
    const [record] = await requestsOf(hook)
    assert.equal(record!.outcome, 'rejected_variables')
    assert.deepEqual(JSON.parse(String(record!.response_body)).errors, answer.body.errors)
    assert.deepEqual(await actionsOf(hook), [])
  })
})

suite('strange payloads', () => {
  test('no payload is ever a 5xx, and a refused one never starts an action', async () => {
    const hook = await makeHook(
      withVariables(
        { name: 'text', required: false },
        { name: 'list', type: 'array', required: false },
        { name: 'number', type: 'integer', required: false },
        { name: 'inherited', path: 'constructor.name', required: false },
        { name: 'proto', path: '__proto__.x', required: false },
      ),
    )
    const accepted = [
      'null',
      '0',
      '"x"',
      '[]',
      '{"unread":"\\u0000 \\ud800"}',
      '{"\\u0000":1,"\\udfff":{"\\u0000":[]}}',
      '{"__proto__":{"x":"1","toString":null},"constructor":{"name":"2"},"hasOwnProperty":1}',
      '{"text":"1","text":"2"}',
      '{"text":1e400,"number":-0}',
      '{"text":"\\ud83d\\ude00"}',
      '{"list":[{"__proto__":{"a":1},"toJSON":"x"}]}',
      `{"list":${'['.repeat(250)}${']'.repeat(250)}}`,
      `{"unread":"${'x'.repeat(1_000_000)}"}`,
      `{${Array.from({ length: 50_000 }, (_, n) => `"k${n}":${n}`).join()}}`,
    ]
    const refused = [
      '{"text":"\\u0000"}',
      '{"text":"\\ud800"}',
      '{"list":[[{"a":"\\u0000"}]]}',
      '{"list":[{"\\udc00":1}]}',
      '{"number":9007199254740992}',
      '{"number":1e400}',
      '{"text":{}}',
      `{"text":${'9'.repeat(100_000)}}`,
      `{"list":["${'x'.repeat(65_535)}"]}`,
    ]
    for (const body of accepted) assert.equal((await call(hook, body)).status, 202, body.slice(0, 60))
    for (const body of refused) assert.equal((await call(hook, body)).status, 422, body.slice(0, 60))
    const actions = await actionsOf(hook)
    assert.equal(actions.length, accepted.length)
    const variablesOf = (body: string) => actions[accepted.indexOf(body)]!.hook_parsed_variables
    assert.deepEqual(variablesOf(accepted[6]!), { inherited: '2', proto: '1' })
    assert.deepEqual(variablesOf(accepted[7]!), { text: '2' })
    assert.deepEqual(variablesOf(accepted[8]!), { text: '1e400', number: 0 })
    assert.deepEqual(await outcomesOf(hook), [
      ...accepted.map(() => 'accepted'),
      ...refused.map(() => 'rejected_variables'),
    ])
  })

  test('a hook may name its variables after anything', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '_', 'a-b']
    const hook = await makeHook(withVariables(...names.map((name) => ({ name }))))
    const sent = `{${names.map((name) => `"${name}":"${name}!"`).join()}}`
    const id = assertStarted(await call(hook, sent))
    const { text } = await api.request('GET', `/actions/${id}`, { token: tree.owner.token })
    const shown = JSON.parse(text).triggered_from.hook_parsed_variables
    assert.deepEqual(new Map(Object.entries(shown)), new Map(names.map((name) => [name, `${name}!`])))
    assertRefused(await call(hook, {}), 422, 'invalid')
  })

  test('large numbers reach the run as the sender wrote them', async () => {
    const hook = await makeHook(withVariables({ name: 'id', path: 'data.ids.1' }))
    const numbers = [
      '12345678901234567890123',
      '9007199254740993',
      '1.0',
      '-0.10',
      '1e-7',
      '100000000000000000000000',
    ]
    for (const number of numbers) assertStarted(await call(hook, `{"data":{"ids":[1,${number}]}}`))
    const ids = (await actionsOf(hook)).map(({ hook_parsed_variables }) => hook_parsed_variables.id)
    assert.deepEqual(ids, numbers)
  })

  test('forms are read when their text or their field payload is JSON', async () => {
    const hook = await makeHook({ ...SIGNED, ...withVariables({ name: 'ref' }) })
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const payload = JSON.stringify({ ref: 'größer + 1' })
    assertStarted(await call(hook, payload, form))
    assertStarted(await call(hook, new URLSearchParams({ a: 'b', payload }).toString(), form))
    assertRefused(await call(hook, 'ref=main', form), 400, 'malformed')
    assertRefused(await call(hook, 'payload=%7B', form), 400, 'malformed')
    assertRefused(await call({ ...hook, secret: 'wrong' }, payload, form), 403, 'forbidden')
    const refs = (await actionsOf(hook)).map(({ hook_parsed_variables }) => hook_parsed_variables.ref)
    assert.deepEqual(refs, ['größer + 1', 'größer + 1'])
  })

  test('a form of 150,000 levels is 400, and does not bring down a hook that reads arrays and numbers', async () => {
    const hook = await makeHook(
      withVariables({ name: 'list', type: 'array', required: false }, { name: 'n', required: false }),
    )
    const payload = `{"n":1,"list":${'['.repeat(150_000)}${']'.repeat(150_000)}}`
    const escaped = payload.replaceAll('[', '%5B').replaceAll(']', '%5D')
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const body of [`payload=${payload}`, `payload=${escaped}`])
      assertRefused(await call(hook, body, { headers }), 400, 'malformed')
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('with a raised limit texts of 5 MB pass, are kept whole, and are still no variables', async (t) => {
    const big = await openTestApp(t, {
      beside: api,
      environment: { GANTRY_MAX_PAYLOAD: String(8 * 1024 * 1024) },
    })
    const hook = await makeHook(withVariables({ name: 'text', required: false }))
    const long = 'ä'.repeat(2_600_000)
    assertStarted(await call(hook, { unread: long }, { by: big }))
    assertRefused(await call(hook, { text: long }, { by: big }), 422, 'invalid')
    assertRefused(await call(hook, { text: long.repeat(2) }, { by: big }), 413, 'too_large')
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ request_body }) => request_body!.equals(bytesOf({ unread: long }))),
      [true, false],
    )
  })
})

suite('duplicates', () => {
  const delivery = (id: string, more: object = {}) => ({ headers: { 'x-github-delivery': id, ...more } })

  test('the same id and body is answered 200 with the action of the first call', async () => {
    const hook = await makeHook(SIGNED)
    const first = await call(hook, { a: 1 }, delivery('1'))
    const id = assertStarted(first)
    const second = await call(hook, { a: 1 }, delivery('1'))
    assert.equal(second.status, 200)
    assert.equal(second.headers['x-gantry-action-id'], String(id))
    assert.deepEqual(second.body, {
      ...first.body,
      message: 'This delivery has already started the pipeline.',
      hook_request_id: (await requestsOf(hook))[1]!.id,
    })
    assert.equal((await actionsOf(hook)).length, 1)
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ outcome, action_id, response_status_code }) => [
        outcome,
        action_id,
        response_status_code,
      ]),
      [
        ['accepted', id, 202],
        ['duplicate', id, 200],
      ],
    )
  })

  test('the same id with another body, another id, another hook, or no id at all is a new action', async () => {
    const [hook, other] = [await makeHook(), await makeHook()]
    const ids = [
      await call(hook, { a: 1 }, delivery('1')),
      await call(hook, { a: 2 }, delivery('1')),
      await call(hook, { a: 1 }, delivery('2')),
      await call(other, { a: 1 }, delivery('1')),
      await call(hook, { a: 1 }),
      await call(hook, { a: 1 }),
      await call(hook, { a: 1 }, { headers: { 'linear-delivery': '1' } }),
    ].map(assertStarted)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('after a day it is a new action, and from then on a duplicate of that one', async () => {
    const hook = await makeHook()
    const claimedBefore = (interval: string) =>
      sql`update delivery_claims set claimed_at = now() - ${interval}::interval where hook_id = ${hook.id}`.execute(
        db,
      )
    const first = assertStarted(await call(hook, {}, delivery('1')))
    await claimedBefore('23 hours 59 minutes')
    assert.equal((await call(hook, {}, delivery('1'))).body.action_id, first)
    await claimedBefore('24 hours 1 second')
    const second = assertStarted(await call(hook, {}, delivery('1')))
    assert.notEqual(second, first)
    assert.equal((await call(hook, {}, delivery('1'))).body.action_id, second)
  })

  test('of 100 copies at once, through two processes, one starts an action and all are told its id', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        call(hook, { a: 1 }, { ...delivery('1'), by: n % 2 ? other : api }),
      ),
    )
    const [action, ...more] = await actionsOf(hook)
    assert.deepEqual(more, [])
    assert.deepEqual(new Set(answers.map(({ body }) => body.action_id)), new Set([action!.id]))
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [...Array<number>(99).fill(200), 202])
    assert.equal((await outcomesOf(hook)).filter((outcome) => outcome === 'duplicate').length, 99)
    assert.equal(await jobsFor(action!.id), 1)
  })

  test('only calls that started an action claim their id', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }), at)
    const send = () => call(hook, { n: '1.5', ref: 'dev' }, delivery('1'))
    assertRefused(await send(), 422, 'invalid')
    await changeHook(
      hook,
      { settings: {}, trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] } },
      at,
    )
    assert.equal((await send()).body.action_id, null)
    await changeHook(hook, { trigger_when: {} }, at)
    assert.match(
      (await call(hook, { n: '1.5', ref: 'dev' }, delivery('1', { 'x-github-event': 'ping' }))).body.message,
      /Pong/,
    )
    await db
      .updateTable('environments')
      .set({ archived_at: new Date() })
      .where('id', '=', at.environmentId)
      .execute()
    assertRefused(await send(), 409, 'conflict')
    await db
      .updateTable('environments')
      .set({ archived_at: null })
      .where('id', '=', at.environmentId)
      .execute()
    const id = assertStarted(await send())
    assert.equal((await send()).body.action_id, id)
  })

  test('a duplicate of a pipeline that can no longer run is recorded, and counts for a day', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const id = assertStarted(await call(hook, {}, delivery('1')))
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    const again = await call(hook, {}, delivery('1'))
    assert.equal(again.body.action_id, id)
    const record = (await requestsOf(hook)).find((one) => one.id === again.body.hook_request_id)
    assert.equal(record?.outcome, 'duplicate')
    assert.equal(record?.action_id, id)
    await sql`update delivery_claims set claimed_at = now() - interval '25 hours' where hook_id = ${hook.id}`.execute(
      db,
    )
    assertRefused(await call(hook, {}, delivery('1')), 409, 'conflict')
  })
})

suite('pipelines that cannot run', () => {
  test('without servers, without steps or in an archived environment a call is 409 and recorded', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const refusal = async () => {
      const answer = await call(hook)
      assertRefused(answer, 409, 'conflict')
      return answer.body.message
    }
    const archive = (archived_at: Date | null) =>
      db.updateTable('environments').set({ archived_at }).where('id', '=', at.environmentId).execute()
    await archive(new Date())
    assert.equal(await refusal(), 'The environment of the pipeline is archived.')
    await archive(null)
    assertStarted(await call(hook))
    await db.deleteFrom('application_servers').where('application_id', '=', at.applicationId).execute()
    assert.equal(await refusal(), 'The pipeline has no server to run on.')
    const link = {
      application_id: at.applicationId,
      server_id: at.serverIds[1]!,
      environment_id: at.environmentId,
    }
    await db.insertInto('application_servers').values(link).execute()
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    assert.equal(await refusal(), 'The pipeline has no step to run.')
    assert.equal((await actionsOf(hook)).length, 1)
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ outcome, response_status_code, action_id }) => [
        outcome,
        response_status_code,
        action_id !== null,
      ]),
      [
        ['rejected_state', 409, false],
        ['accepted', 202, true],
        ['rejected_state', 409, false],
        ['rejected_state', 409, false],
      ],
    )
  })
})

suite('queue policies', () => {
  const statesOf = async (...ids: number[]) => {
    const rows = await db.selectFrom('actions').select(['id', 'status']).where('id', 'in', ids).execute()
    return ids.map((id) => rows.find((row) => row.id === id)!.status)
  }

  test('queue lets every run wait', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const ids = [await call(hook), await call(hook), await call(hook)].map(assertStarted)
    assert.deepEqual(await statesOf(...ids), ['queued', 'queued', 'queued'])
  })

  test('latest skips older waiting runs of hooks with their steps and an event, and no others', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'latest' })
    const [hook, other] = [await makeHook({}, at), await makeHook({}, at)]
    const state = { started_at: null, completed_at: null }
    const queued = { ...state, status: 'queued' as const, status_reason_code: 'QUEUED' as const }
    const running = {
      ...state,
      started_at: new Date(),
      status: 'in-progress' as const,
      status_reason_code: 'IN_PROGRESS' as const,
    }
    const waiting = {
      ...state,
      status: 'waiting' as const,
      status_reason_code: 'WAITING_CONCURRENCY_PIPELINE' as const,
    }
    const manual = await createAction(db, at, { ...queued, trigger_type: 'manual' })
    const retry = await createAction(db, at, { ...queued, trigger_type: 'retry' })
    const requestId = await createHookRequest(db, hook.id, 'incoming')
    const byHook = { trigger_type: 'hook' as const, hook_id: hook.id, hook_request_id: requestId }
    const replay = await createAction(db, at, { ...queued, ...byHook, triggered_by: at.owner.id })
    const started = await createAction(db, at, { ...running, ...byHook })
    const ended = await createAction(db, at, byHook)
    const held = await createAction(db, at, { ...waiting, ...byHook }, waiting)
    const elsewhere = await createAction(db, tree, { ...queued, ...byHook })
    const first = assertStarted(await call(hook))
    const second = assertStarted(await call(other))
    assert.deepEqual(await statesOf(manual, retry, replay, started, ended, elsewhere), [
      'queued',
      'queued',
      'queued',
      'in-progress',
      'completed',
      'queued',
    ])
    assert.deepEqual(await statesOf(held, first, second), ['skipped', 'skipped', 'queued'])
    const { body } = await api.request('GET', `/actions/${first}`, { token: at.owner.token })
    assert.equal(body.status_reason_code, 'SKIPPED')
    assert.ok(body.completed_at)
    for (const target of body.targets) {
      assert.equal(target.status, 'skipped')
      assert.deepEqual(
        target.steps.map((step: Record<string, unknown>) => [
          step.order,
          step.status,
          step.status_reason_code,
        ]),
        DEPLOY_STEPS.map((_, index) => [index + 1, 'skipped', 'SKIPPED']),
      )
    }
    const events = await db
      .selectFrom('events')
      .selectAll()
      .where('action_id', 'in', [held, first])
      .orderBy('action_id')
      .orderBy('id')
      .execute()
    assert.deepEqual(
      events.map(({ action_id, previous_status, status }) => [action_id, previous_status, status]),
      [
        [held, 'waiting', 'skipped'],
        [first, null, 'queued'],
        [first, 'queued', 'skipped'],
      ],
    )
  })

  test('latest leaves one of many that come at once, through two processes, and a copy of an old one changes nothing', async (t) => {
    const second = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'latest' })
    const hook = await makeHook({}, at)
    const send = (n: number) =>
      call(hook, { n }, { headers: { 'idempotency-key': String(n) }, by: n % 2 ? second : api })
    const ids = (await Promise.all(Array.from({ length: 40 }, (_, n) => send(n)))).map(assertStarted)
    const left = async () =>
      (await actionsOf(hook)).filter(({ status }) => status === 'queued').map(({ id }) => id)
    assert.deepEqual(await left(), [Math.max(...ids)])
    assert.equal((await send(0)).status, 200)
    assert.deepEqual(await left(), [Math.max(...ids)])
    const { events } = await db
      .selectFrom('events')
      .innerJoin('actions', 'actions.id', 'events.action_id')
      .select(({ fn }) => fn.countAll<number>().as('events'))
      .where('actions.hook_id', '=', hook.id)
      .executeTakeFirstOrThrow()
    assert.equal(events, 40 + 39)
  })

  test('reject answers 409 while the pipeline is busy, and records it', async () => {
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject' })
    const hook = await makeHook({}, at)
    const id = assertStarted(await call(hook))
    const refused = await call(hook)
    assertRefused(refused, 409, 'conflict')
    assert.match(refused.body.message, /busy/)
    const record = (await requestsOf(hook)).at(-1)!
    assert.deepEqual(
      [record.outcome, record.response_status_code, record.action_id],
      ['rejected_state', 409, null],
    )
    await db
      .updateTable('actions')
      .set({ status: 'failed', status_reason_code: 'FAILED', completed_at: new Date() })
      .where('id', '=', id)
      .execute()
    assertStarted(await call(hook))
    await setPipeline(at, { max_parallel_actions: 0 })
    assertStarted(await call(hook))
  })

  test('reject never lets more through than there is room, though many come at once through two processes', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject', max_parallel_actions: 3 })
    const hook = await makeHook({}, at)
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => call(hook, { n }, { by: n % 2 ? other : api })),
    )
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [
      ...Array<number>(3).fill(202),
      ...Array<number>(27).fill(409),
    ])
    assert.equal((await actionsOf(hook)).length, 3)
    assert.equal((await requestsOf(hook)).length, 30)
  })

  test('a duplicate is a duplicate also where further runs are rejected, and takes no room', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const at = await createTestTree(db)
    await setPipeline(at, { queue_policy: 'reject', max_parallel_actions: 2 })
    const hook = await makeHook({}, at)
    const send = (id: string, by = api) => call(hook, { id }, { by, headers: { 'idempotency-key': id } })
    const copies = await Promise.all(Array.from({ length: 20 }, (_, n) => send('1', n % 2 ? other : api)))
    const ids = new Set(copies.map(({ body }) => body.action_id))
    assert.equal(ids.size, 1)
    assert.equal(copies.filter(({ status }) => status === 202).length, 1)
    const mixed = await Promise.all([send('1'), send('1'), send('2'), send('1')])
    assert.deepEqual(
      mixed.map(({ status }) => status),
      [200, 200, 202, 200],
    )
    assert.equal((await send('1')).body.action_id, [...ids][0])
    assertRefused(await send('3'), 409, 'conflict')
    assert.equal((await actionsOf(hook)).length, 2)
  })
})

suite('rate limits', () => {
  test('beyond its burst a hook answers 429 with Retry-After and records it without the body', async () => {
    const hook = await makeHook({ settings: { rate_limit: { per_second: 1, burst: 3 } } })
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(hook)))
    const refused = answers.filter(({ status }) => status === 429)
    assert.equal(answers.filter(({ status }) => status === 202).length, 3)
    assert.equal(refused.length, 2)
    for (const answer of refused) {
      assertRefused(answer, 429, 'too_many_requests')
      assert.equal(answer.headers['retry-after'], '1')
    }
    const records = (await requestsOf(hook)).filter(({ outcome }) => outcome === 'rate_limited')
    assert.deepEqual(
      records.map(({ request_body, request_headers, response_status_code }) => [
        request_body,
        request_headers,
        response_status_code,
      ]),
      [
        [null, null, 429],
        [null, null, 429],
      ],
    )
    assert.equal((await actionsOf(hook)).length, 3)
  })

  test('an address that signs badly too often is sent away, well signed calls from it are not', async () => {
    const hook = await makeHook(SIGNED)
    const wrong = { ...hook, secret: 'wrong' }
    const address = '198.51.100.1'
    const statuses = await Promise.all(
      Array.from({ length: 300 }, async () => (await call(wrong, {}, { address })).status),
    )
    assert.deepEqual(new Set(statuses), new Set([403, 429]))
    assert.ok(statuses.filter((status) => status === 403).length >= 100)
    const last = await call(wrong, {}, { address })
    assert.ok([403, 429].includes(last.status))
    if (last.status === 429) assert.match(last.headers['retry-after']!, /^\d+$/)
    assert.equal((await call(wrong, {}, { address: '198.51.100.2' })).status, 403)
    assertStarted(await call(hook, {}, { address }))
  })

  test('who guesses addresses of hooks is sent away too', async () => {
    const guess = (n: number) =>
      api.request('POST', `/hooks/guess-${n}/trigger`, { rawBody: '{}', address: '198.51.100.3' })
    const statuses = await Promise.all(Array.from({ length: 300 }, async (_, n) => (await guess(n)).status))
    assert.deepEqual(new Set(statuses), new Set([404, 429]))
  })

  test('refused calls are recorded at most 20 an hour, without body, and then counted', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook({ ...SIGNED, settings: { rate_limit: { per_second: 1, burst: 1 } } })
    const wrong = { ...hook, secret: 'wrong' }
    assertStarted(await call(hook))
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        call(n % 3 ? wrong : hook, {}, { by: n % 2 ? other : api, address: '198.51.100.4' }),
      ),
    )
    await api.calls.refusals.flush()
    await other.calls.refusals.flush()
    const records = (await requestsOf(hook)).filter(({ outcome }) => outcome !== 'accepted')
    const perHour = Map.groupBy(records, ({ created_at }) => created_at.slice(0, 13))
    for (const [hour, kept] of perHour) assert.ok(kept.length <= 20, hour)
    assert.ok(records.length >= 20)
    assert.ok(
      records.every(({ request_body, request_headers }) => request_body === null && request_headers === null),
    )
    const counts = await db.selectFrom('refused_calls').selectAll().where('hook_id', '=', hook.id).execute()
    const counted = counts.reduce((sum, { calls }) => sum + calls, 0)
    const accepted = (await actionsOf(hook)).length
    assert.equal(records.length + counted + accepted, 61)
  })
})

suite('several processes', () => {
  test('a change made by one counts for the next call to another', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const there = (secret = hook.secret) => call({ ...hook, secret }, { ref: 'dev' }, { by: other })
    assertStarted(await there())
    await changeHook(hook, { active: false })
    assertRefused(await there(), 404, 'not_found')
    await changeHook(hook, { active: true })
    assertStarted(await there())
    await changeHook(hook, { trigger_when: { conditions: [{ path: 'ref', accepted_values: ['main'] }] } })
    assert.equal((await there()).status, 200)
    await changeHook(hook, { trigger_when: {}, ...withVariables({ name: 'n' }) })
    assertRefused(await there(), 422, 'invalid')
    await changeHook(hook, { settings: {}, secret_header_name: 'X-Other' })
    assertRefused(await there(), 403, 'forbidden')
    await changeHook(hook, { requires_secret: false })
    assertStarted(await there())
    const { status } = await api.request('DELETE', `/hooks/incoming/${hook.id}`, { token: tree.owner.token })
    assert.equal(status, 204)
    assertRefused(await there(), 404, 'not_found')
  })

  test('a rotated secret counts at once everywhere, and the old one for as long as the overlap', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook(SIGNED)
    const rotate = async (body: object = {}) => {
      const url = `/hooks/incoming/${hook.id}/rotate-secret`
      return (await api.request('POST', url, { token: tree.owner.token, body })).body.secret as string
    }
    const both = async (secret: string) =>
      Promise.all([api, other].map(async (by) => (await call({ ...hook, secret }, {}, { by })).status))
    const first = hook.secret!
    assert.deepEqual(await both(first), [202, 202])
    const second = await rotate()
    assert.deepEqual(await both(second), [202, 202])
    assert.deepEqual(await both(first), [202, 202])
    const third = await rotate({ overlap_seconds: 3600 })
    assert.deepEqual(await both(third), [202, 202])
    assert.deepEqual(await both(second), [202, 202])
    assert.deepEqual(await both(first), [403, 403], 'only one previous secret lives on')
    await sql`update hooks set previous_secret_until = now() where id = ${hook.id}`.execute(db)
    assert.deepEqual(await both(second), [403, 403])
    const fourth = await rotate({ overlap_seconds: 0 })
    assert.deepEqual(await both(third), [403, 403])
    assert.deepEqual(await both(fourth), [202, 202])
  })

  test('a process that has not heard of a change yet turns nobody away for what was true before', async () => {
    const hook = await makeHook({ ...SIGNED, active: false })
    const known = await api.calls.cache.find(pathOf(hook).split('/')[2]!)
    let heard = false
    const cache: typeof api.calls.cache = {
      ...api.calls.cache,
      find: (name) => (heard ? api.calls.cache.find(name) : Promise.resolve(known)),
      forget() {
        heard = true
        api.calls.cache.forget()
      },
    }
    const receive = (secret: string) => {
      const headers = { 'x-hub-signature-256': sign(secret, '{}') }
      const sent = { headers, body: Buffer.from('{}'), address: '192.0.2.1' }
      return receiveCall({ ...api.calls, cache }, pathOf(hook).split('/')[2]!, sent, 'x')
    }
    assert.equal((await receive(hook.secret!)).kind, 'unknown-hook')
    await changeHook(hook, { active: true })
    assert.equal((await receive(hook.secret!)).kind, 'started', 'it was switched on')
    Object.assign(known!, await api.calls.cache.find(pathOf(hook).split('/')[2]!))
    const url = `/hooks/incoming/${hook.id}/rotate-secret`
    const { body } = await api.request('POST', url, { token: tree.owner.token, body: {} })
    heard = false
    assert.equal((await receive(body.secret)).kind, 'started', 'it has a new secret')
    heard = false
    assert.equal((await receive('wrong')).kind, 'rejected_signature')
  })

  test('a call that is overtaken by changes again and again is told to come back, and nothing is stored', async () => {
    const hook = await makeHook()
    const known = await api.calls.cache.find(pathOf(hook).split('/')[2]!)
    const cache = {
      ...api.calls.cache,
      find: async () => ({ hook: known!.hook, version: -1 }),
    }
    const sent = { headers: {}, body: Buffer.from('{}'), address: '192.0.2.1' }
    await assert.rejects(receiveCall({ ...api.calls, cache }, 'x', sent, 'x'), OverloadError)
    assert.deepEqual(await requestsOf(hook), [])
  })
})

suite('when the database is away', () => {
  test('a call is 503 with Retry-After, nothing is stored, and all is well when it is back', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const known = await makeHook(SIGNED, at, own)
    const unknown = await makeHook({}, at, own)
    assertStarted(await call(known, {}, { by: own }))
    const { database } = own.settings
    const connections = (allowed: boolean) =>
      administer(`alter database ${database} allow_connections ${allowed}`)
    const cut = () =>
      administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    await connections(false)
    await cut()
    const sent = [known, unknown, { ...known, secret: 'wrong' }]
    const answers = await Promise.all(sent.map((hook) => call(hook, { lost: 1 }, { by: own })))
    for (const answer of answers) {
      assertRefused(answer, 503, 'unavailable')
      assert.equal(answer.headers['retry-after'], '2')
    }
    await connections(true)
    assert.equal((await requestsOf(known, own.db)).length, 1)
    assert.equal((await requestsOf(unknown, own.db)).length, 0)
    assertStarted(await call(known, {}, { by: own }))
    assertStarted(await call(unknown, {}, { by: own }))
  })

  test('calls whose connections break under way are stored whole or not at all', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const hook = await makeHook({}, at, own)
    const { database } = own.settings
    const answers = Array.from({ length: 200 }, async (_, n) => {
      for (let turn = 0; turn < n; turn += 1) await new Promise(setImmediate)
      return call(hook, { n }, { by: own })
    })
    for (let n = 0; n < 5; n += 1)
      await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    const told = await Promise.all(answers)
    assert.deepEqual(
      told.filter(({ status }) => status !== 202 && status !== 503).map(({ text }) => text),
      [],
    )
    const { rows } = await sql<{ action: number; whole: boolean }>`
      select a.id as action, r.action_id = a.id and r.request_body is not null
        and (select count(*) from targets where action_id = a.id) = 2
        and (select count(*) from events where action_id = a.id) = 1
        and exists (select from queue.job where data -> 'action_ids' @> to_jsonb(a.id)) as whole
      from actions a full join hook_requests r on r.id = a.hook_request_id`.execute(own.db)
    assert.ok(rows.every(({ whole }) => whole))
    const stored = new Set(rows.map(({ action }) => action))
    for (const { status, body } of told) if (status === 202) assert.ok(stored.has(body.action_id))
  })

  test('calls that are only counted so far are counted when it is back', async (t) => {
    const own = await openTestApp(t)
    const at = await createTestTree(own.db)
    const hook = await makeHook(SIGNED, at, own)
    const wrong = { ...hook, secret: 'wrong' }
    await Promise.all(Array.from({ length: 30 }, () => call(wrong, {}, { by: own })))
    const { database } = own.settings
    await administer(`alter database ${database} allow_connections false`)
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
    await assert.rejects(own.calls.refusals.flush())
    await administer(`alter database ${database} allow_connections true`)
    await own.calls.refusals.flush()
    const records = await requestsOf(hook, own.db)
    const counts = await own.db.selectFrom('refused_calls').selectAll().execute()
    assert.equal(records.length + counts.reduce((sum, { calls }) => sum + calls, 0), 30)
  })
})

async function jobsFor(actionId: number): Promise<number> {
  const { rows } = await sql<{ jobs: number }>`
    select count(*) as jobs from queue.job
    where name = 'actions.run' and data -> 'action_ids' @> to_jsonb(${actionId}::bigint)`.execute(db)
  return rows[0]!.jobs
}
