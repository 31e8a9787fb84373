// Calls to incoming hooks: how they are evaluated, what is stored, and the response.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import {
  assertRejected,
  assertStarted,
  openCalls,
  pathOf,
  SIGNED,
  sign,
  withVariables,
} from '#test/support/calls.ts'
import { TEST_BASE_URL } from '#test/support/harness.ts'
import { createTestTree } from '#test/support/world.ts'

const { api, db, tree, makeHook, changeHook, archive, call, actionsOf, requestsOf, outcomesOf, jobsFor } =
  await openCalls({ after })

suite('an accepted call', () => {
  test('is answered after everything it starts is stored, with a link to the run', async () => {
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
      assert.equal(target.status, 'pending')
      assert.equal(target.total_steps, DEPLOY_STEPS.length)
      assert.equal(target.current_step, null)
      assert.deepEqual(
        target.steps.map(({ name, order, status }: Record<string, unknown>) => [order, name, status]),
        DEPLOY_STEPS.map(({ name }, index) => [index + 1, name, 'pending']),
      )
    }
    assert.deepEqual(body.summary.targets, { count: 2, pending: 2, in_progress: 0, completed: 0, failed: 0 })
  })

  test('stores a record, an event, and a job for the action', async () => {
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

  test('also works with the id of the hook when it must be signed', async () => {
    const hook = await makeHook(SIGNED)
    const under = (name: string, signature?: string) =>
      api.request('POST', `/hooks/${name}/trigger`, {
        rawBody: '{}',
        headers: signature === undefined ? {} : { 'x-hub-signature-256': signature },
      })
    assertStarted(await under(hook.id, sign(hook.secret!, '{}')))
    assertStarted(await under(hook.id.toUpperCase(), sign(hook.secret!, '{}')))
    assertRejected(await under(hook.id), 403, 'forbidden')
  })

  test('may have no content type, any Accept header, and a server pipeline without an application', async () => {
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

suite('the order of checks', () => {
  const large = Buffer.alloc(1024 * 1024 + 1, 0x20)

  test('size, then the hook, then the signature, then the rate limit, then the payload', async () => {
    const hook = await makeHook({ ...SIGNED, settings: { rate_limit: { per_second: 1, burst: 1 } } })
    const nowhere = { ...hook, url: `${TEST_BASE_URL}/hooks/nowhere/trigger` }
    const wrong = { headers: { 'x-hub-signature-256': 'sha256=00', 'content-type': 'text/plain' } }
    assertRejected(await call(nowhere, large, wrong), 413, 'too_large')
    assertRejected(await call(hook, large, wrong), 413, 'too_large')
    assertRejected(await call(nowhere, '{', wrong), 404, 'not_found')
    assertRejected(await call(hook, '{', wrong), 403, 'forbidden')
    const answers = await Promise.all([call(hook, '{'), call(hook, '{')])
    const [malformed, limited] = answers.toSorted((one, other) => one.status - other.status)
    assertRejected(malformed!, 400, 'malformed')
    assertRejected(limited!, 429, 'too_many_requests')
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
    assertRejected(await call(hook, '{', ping), 400, 'malformed')
    assert.match((await call(hook, {}, ping)).body.message, /^Pong/)
    assert.match((await call(hook, {})).body.message, /condition on ref/)
    assertRejected(await call(hook, { ref: 'main' }), 422, 'invalid')
    const id = assertStarted(await call(hook, { ref: 'main', n: 1 }, once))
    await archive(at)
    assert.equal((await call(hook, { ref: 'main', n: 1 }, once)).body.action_id, id)
    assertRejected(await call(hook, { ref: 'main', n: 1 }), 409, 'conflict')
    await changeHook(hook, withVariables({ name: 'more' }), at)
    assertRejected(await call(hook, { ref: 'main', n: 1 }, once), 422, 'invalid')
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
  test('a ping returns 200 and is recorded', async () => {
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

  test('unmet conditions return 200 and name the first one', async () => {
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
      message: 'The condition on ref is not met. The payload has no such value.',
    })
  })

  test('operators, headers and groups decide, and the record says why without values of the call', async () => {
    const conditions = [
      { header: 'X-Event', equals: 'push' },
      { path: 'ref', matches: 'refs/heads/{main,release/**}' },
      {
        any_of: [
          { path: 'forced', exists: false },
          { path: 'sender', one_of: ['bot'] },
        ],
      },
      { path: 'message', matches: '**[skip]**', not: true },
    ]
    const hook = await makeHook({ trigger_when: { conditions } })
    const push = (body: object, event = 'push') => call(hook, body, { headers: { 'x-event': event } })
    const main = { ref: 'refs/heads/main' }
    assertStarted(await push(main))
    assertStarted(await push({ ref: 'refs/heads/release/1/x', forced: true, sender: 'bot', message: 'fix' }))
    const rejected: [object, string | undefined, RegExp, string][] = [
      [main, 'pull', /the condition on header X-Event is not met/, 'The value is not an accepted one.'],
      [{ ref: 'refs/tags/v1' }, 'push', /the condition on ref is not met/, 'that matches the pattern.'],
      [
        { ...main, forced: true, sender: 'secret' },
        'push',
        /no condition on forced or sender is met/,
        'No condition',
      ],
      [
        { ...main, message: 'a [skip] b' },
        'push',
        /condition on message/,
        'The value matches the excluded pattern.',
      ],
    ]
    for (const [body, event, message, reason] of rejected) {
      const answer = await push(body, event)
      assert.deepEqual([answer.status, answer.body.action_id], [200, null])
      assert.match(answer.body.message, message)
      const record = (await requestsOf(hook)).at(-1)!.response_body!.toString()
      assert.ok(record.includes(reason), record)
      assert.doesNotMatch(record, /secret|refs|pull/)
    }
  })
})
