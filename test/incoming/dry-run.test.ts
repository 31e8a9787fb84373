// Dry runs of calls: POST /hooks/incoming/{hook_id}/dry-run.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import {
  assertRejected,
  assertStarted,
  type Hook,
  openCalls,
  SIGNED,
  withVariables,
} from '#test/support/calls.ts'
import type { Answer } from '#test/support/harness.ts'
import { createHook, createMember, createTestTree } from '#test/support/world.ts'

const calls = await openCalls({ after })
const { api, db, tree, makeHook, changeHook, removeHook, call, actionsOf, requestsOf } = calls

type Input = { headers?: Record<string, string>; body?: unknown }

const ask = ({ id }: Pick<Hook, 'id'>, input: unknown, token = tree.owner.token): Promise<Answer> =>
  api.request('POST', `/hooks/incoming/${id}/dry-run`, { token, body: input })

async function dryRun(hook: Hook, input: Input, token?: string) {
  const { status, body, text } = await ask(hook, input, token)
  assert.equal(status, 200, text)
  return body
}

const nothing = {
  errors: null,
  conditions: [] as unknown[],
  variables: null,
  source: null,
  targets: [],
  signed_call: null,
}

suite('a dry run of a call that would start the pipeline', () => {
  const variables = withVariables(
    { name: 'branch', path: 'ref' },
    { name: 'count', type: 'integer', default_value: 7 },
    { name: 'labels', path: 'pull_request.labels', type: 'array', required: false },
  )

  test('shows the variables, the source, and every step on every server', async () => {
    const hook = await makeHook({ ...SIGNED, ...variables })
    const steps = DEPLOY_STEPS.map(({ name, description }, index) => ({
      order: index + 1,
      name,
      description,
    }))
    assert.deepEqual(await dryRun(hook, { body: { ref: 'refs/heads/feature/x' } }), {
      verdict: 'accepted',
      message: 'A call with this payload starts the pipeline.',
      errors: null,
      conditions: [],
      variables: { branch: 'refs/heads/feature/x', count: 7 },
      source: { source_type: 'branch', source_ref: 'feature/x' },
      targets: [
        { resource_id: tree.serverIds[0], resource_name: 'web-1', batch: 1, steps },
        { resource_id: tree.serverIds[1], resource_name: 'web-2', batch: 1, steps },
      ],
      signed_call: null,
    })
  })

  test('matches what the call then does', async () => {
    const hook = await makeHook(variables)
    const payload = { ref: 'refs/tags/v1', count: '12', pull_request: { labels: ['a', { b: null }] } }
    const result = await dryRun(hook, { body: payload })
    const id = assertStarted(await call(hook, payload))
    const { body } = await api.request('GET', `/actions/${id}`, { token: tree.owner.token })
    assert.deepEqual(result.variables, body.triggered_from.hook_parsed_variables)
    const { source_type, source_ref } = body.action_data.deployment
    assert.deepEqual(result.source, { source_type, source_ref })
    type Target = { resource_id: number; steps: { order: number; name: string }[] }
    const outline = (targets: Target[]) =>
      targets.map(({ resource_id, steps }) => [resource_id, steps.map(({ order, name }) => [order, name])])
    assert.deepEqual(outline(result.targets), outline(body.targets))
  })

  test('shows a large number exactly as the call would read it', async () => {
    const hook = await makeHook(
      withVariables({ name: 'id' }, { name: 'list', type: 'array', required: false }),
    )
    const number = '12345678901234567890.10'
    const answer = await api.request('POST', `/hooks/incoming/${hook.id}/dry-run`, {
      token: tree.owner.token,
      rawBody: `{"headers":{},"body":{"id":${number},"list":[1.50]}}`,
    })
    assert.deepEqual(answer.body.variables, { id: number, list: [1.5] })
  })

  test('uses the current hook and pipeline', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook({}, at)
    const ran = () => dryRun(hook, { body: {} }, at.owner.token)
    await calls.setPipeline(at, { rollout: JSON.stringify({ batch: 1, max_failed: 0 }) })
    const batches = (await ran()).targets.map(({ batch }: { batch: number }) => batch)
    assert.deepEqual(batches, [1, 2])
    await db.deleteFrom('application_servers').where('server_id', '=', at.serverIds[0]!).execute()
    await db
      .deleteFrom('pipeline_steps')
      .where('pipeline_id', '=', at.pipelineId)
      .where('position', '>', 1)
      .execute()
    const { targets } = await ran()
    assert.deepEqual(
      targets.map((one: { resource_id: number; steps: object[] }) => [one.resource_id, one.steps.length]),
      [[at.serverIds[1], 1]],
    )
    await changeHook(hook, withVariables({ name: 'n', default_value: 'x' }), at)
    assert.deepEqual((await ran()).variables, { n: 'x' })
  })

  test('has no source where nothing is deployed', async () => {
    await db
      .insertInto('pipeline_steps')
      .values({ pipeline_id: tree.serverPipelineId, position: 1, name: 'restart', command: 'true' })
      .execute()
    const hook = await makeHook(withVariables({ name: 'branch' }), {
      ...tree,
      pipelineId: tree.serverPipelineId,
    })
    const { source, targets } = await dryRun(hook, { body: { branch: 'main' } })
    assert.equal(source, null)
    assert.deepEqual(
      targets.map((one: { resource_id: number; steps: { name: string }[] }) => [
        one.resource_id,
        one.steps[0]!.name,
      ]),
      [[tree.serverIds[0], 'restart']],
    )
  })

  test('says when the hook is disabled', async () => {
    const hook = await makeHook({ active: false })
    const { verdict, message } = await dryRun(hook, { body: {} })
    assert.equal(verdict, 'accepted')
    assert.equal(message, 'The hook is disabled: calls get a 404 response.')
  })
})

suite('a dry run of a call that would start nothing', () => {
  const conditions = [{ path: 'ref', accepted_values: ['main'] }]
  const inputs: [string, Input][] = [
    ['accepted', { body: { ref: 'main', n: 1 } }],
    [
      'accepted',
      { headers: { 'Content-Type': 'application/x-www-form-urlencoded' }, body: { ref: 'main', n: 1 } },
    ],
    ['accepted', { headers: { 'X-GitHub-Event': 'push' }, body: { ref: 'main', n: '1' } }],
    ['ping', { headers: { 'X-GitHub-Event': 'ping' }, body: {} }],
    ['ping', { headers: { 'x-event-key': 'diagnostics:ping' }, body: null }],
    ['ignored', { body: { ref: 'dev', n: 1 } }],
    ['ignored', { body: 'main' }],
    ['ignored', { body: [] }],
    ['rejected_variables', { body: { ref: 'main' } }],
    ['rejected_variables', { body: { ref: 'main', n: 1.5, flag: 'yes' } }],
    ['rejected_payload', { headers: { 'CONTENT-TYPE': 'text/plain' }, body: { ref: 'main', n: 1 } }],
  ]

  test('reports the same verdict and errors as the call', async () => {
    const hook = await makeHook({
      trigger_when: { conditions },
      ...withVariables({ name: 'n', type: 'integer' }, { name: 'flag', type: 'boolean', required: false }),
    })
    for (const [expected, { headers, body }] of inputs) {
      const result = await dryRun(hook, { headers, body })
      assert.equal(result.verdict, expected, JSON.stringify({ headers, body }))
      const { verdict: _, message: __, errors, ...rest } = { ...result, conditions: [] }
      if (expected !== 'accepted') assert.deepEqual({ ...rest, errors: null }, nothing)
      const lowerCase = Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])
      const answer = await call(hook, JSON.stringify(body), { headers: Object.fromEntries(lowerCase) })
      assert.equal((await requestsOf(hook)).at(-1)!.outcome, expected)
      assert.deepEqual(errors, answer.body.errors)
    }
  })

  test('shows each condition, with those of groups', async () => {
    const hook = await makeHook({
      trigger_when: {
        conditions: [
          { header: 'X-Event', equals: 'push' },
          {
            any_of: [
              { path: 'ref', matches: 'rel*' },
              { path: 'ref', equals: 'main' },
            ],
          },
          { path: 'draft', exists: false },
        ],
      },
    })
    const result = await dryRun(hook, { headers: { 'X-EVENT': 'push' }, body: { ref: 'main', draft: true } })
    assert.equal(result.verdict, 'ignored')
    type Shown = { condition: string; met: boolean; group?: Shown[] }
    const shown = ({ condition, met, group = [] }: Shown): unknown => [condition, met, ...group.map(shown)]
    assert.deepEqual(result.conditions.map(shown), [
      ['header X-Event', true],
      ['ref', true, ['ref', false], ['ref', true]],
      ['draft', false],
    ])
    assert.equal(result.conditions[2].reason, 'The call has such a value.')
  })

  test('says why in one sentence', async () => {
    const hook = await makeHook({
      trigger_when: { conditions },
      ...withVariables({ name: 'n', type: 'integer' }),
    })
    const message = async (input: Input) => (await dryRun(hook, input)).message
    assert.equal(
      await message({ body: { ref: 'dev' } }),
      'Nothing is started: the condition on ref is not met.',
    )
    assert.equal(
      await message({ headers: { 'x-github-event': 'ping' }, body: {} }),
      'Ping: nothing is started.',
    )
    assert.equal(await message({ body: { ref: 'main' } }), 'Some variables cannot be read from this payload.')
    const xml = { headers: { 'content-type': 'application/xml' }, body: {} }
    assert.equal(await message(xml), 'The body must be JSON. Send `Content-Type: application/json`.')
  })

  test('gives the reason when the pipeline cannot run, and still shows the variables', async () => {
    const at = await createTestTree(db)
    const hook = await makeHook(withVariables({ name: 'n', type: 'integer' }), at)
    const rejection = async () => {
      const { message, ...result } = await dryRun(hook, { body: { n: 1 } }, at.owner.token)
      assert.deepEqual(result, { ...nothing, verdict: 'rejected_state', variables: { n: 1 } })
      assertRejected(await call(hook, { n: 1 }), 409, 'conflict')
      return message
    }
    await calls.archive(at)
    assert.equal(await rejection(), 'The environment of the pipeline is archived.')
    await calls.archive(at, null)
    await db.deleteFrom('pipeline_steps').where('pipeline_id', '=', at.pipelineId).execute()
    assert.equal(await rejection(), 'The pipeline has no steps.')
    await db.deleteFrom('application_servers').where('application_id', '=', at.applicationId).execute()
    assert.equal(await rejection(), 'The pipeline has no servers to run on.')
  })
})

test('a dry run has no side effects: no run, no record, no idempotency key, no rate limit use', async () => {
  const hook = await makeHook({ settings: { rate_limit: { per_second: 1, burst: 1 } } })
  const tables = [
    'actions',
    'targets',
    'events',
    'hook_requests',
    'delivery_claims',
    'refused_calls',
  ] as const
  const count = () =>
    Promise.all(
      tables.map((table) =>
        db
          .selectFrom(table)
          .select(({ fn }) => fn.countAll<number>().as('rows'))
          .executeTakeFirstOrThrow(),
      ),
    )
  const before = await count()
  const headers = { 'X-GitHub-Delivery': 'd-1' }
  for (let n = 0; n < 5; n += 1) assert.equal((await dryRun(hook, { headers, body: {} })).verdict, 'accepted')
  assert.deepEqual(await count(), before)
  assertStarted(await call(hook, '{}', { headers: { 'x-github-delivery': 'd-1' } }))
  assert.equal((await actionsOf(hook)).length, 1)
})

suite('who may request a dry run', () => {
  test('users with hook:edit, whatever else they may not do', async () => {
    const hook = await makeHook(SIGNED)
    const editor = await calls.memberWith('hook:view', 'hook:edit')
    const developer = await createMember(db, tree, 'developer')
    for (const { token } of [editor, developer])
      assert.equal((await ask(hook, { body: {} }, token)).status, 200)
    const runner = await calls.memberWith(
      'hook:view',
      'hook:add',
      'hook:remove',
      'pipeline:run',
      'pipeline:edit',
    )
    const viewer = await createMember(db, tree, 'viewer')
    for (const { token } of [runner, viewer])
      assertRejected(await ask(hook, { body: {} }, token), 403, 'forbidden')
    const blind = await calls.memberWith('hook:edit', 'pipeline:run')
    const outsider = (await createTestTree(db)).owner
    for (const { token } of [blind, outsider])
      assertRejected(await ask(hook, { body: {} }, token), 404, 'not_found')
    assertRejected(await ask(hook, { body: {} }, 'gty_at_nobody'), 401, 'unauthenticated')
  })

  test('a hook that is removed, outgoing, or unknown is 404', async () => {
    const removed = await makeHook()
    await removeHook(removed)
    const outgoing = await createHook(db, tree, 'outgoing')
    for (const id of [removed.id, outgoing, crypto.randomUUID()])
      assertRejected(await ask({ id }, { body: {} }), 404, 'not_found')
    assertRejected(await ask({ id: 'x' }, { body: {} }), 422, 'invalid')
  })
})

suite('an invalid request', () => {
  test('is 422 and names the field', async () => {
    const hook = await makeHook()
    const inputs: [unknown, string][] = [
      [{}, 'body'],
      [{ headers: {} }, 'body'],
      [{ body: {}, payload: {} }, 'payload'],
      [{ body: {}, headers: { 'x-a': 1 } }, 'headers.x-a'],
      [{ body: {}, headers: { 'x-a': 'x'.repeat(8_193) } }, 'headers.x-a'],
      [{ body: {}, headers: [] }, 'headers'],
      [[], 'body'],
      [{ body: { text: '\0' } }, 'body.text'],
    ]
    for (const [input, field] of inputs) {
      const answer = await ask(hook, input)
      assertRejected(answer, 422, 'invalid')
      assert.deepEqual(Object.keys(answer.body.errors), [field])
    }
  })

  test('is 400 when it is not JSON, and 415 without a JSON content type', async () => {
    const hook = await makeHook()
    const url = `/hooks/incoming/${hook.id}/dry-run`
    const { token } = tree.owner
    for (const rawBody of ['', '{', '{"body":{},}', '{"body":{"__proto__":{}}}', Buffer.from([0xff])])
      assertRejected(await api.request('POST', url, { token, rawBody }), 400, 'malformed')
    const headers = { 'content-type': 'text/plain' }
    const answer = await api.request('POST', url, { token, rawBody: '{"body":{}}', headers })
    assertRejected(answer, 415, 'unsupported_media_type')
  })
})
