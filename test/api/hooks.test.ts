import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { after, test } from 'node:test'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const INCOMING = {
  name: 'Push to main',
  requires_secret: true,
  secret_algorithm: 'sha256',
  secret_header_name: 'X-Hub-Signature-256',
  action_type: 'deploy',
  settings: {
    variables: [
      { name: 'branch', path: 'ref', type: 'string', required: true },
      { name: 'count', path: 'commits.0.count', type: 'integer', required: false, default_value: 7 },
    ],
  },
}
const OUTGOING = {
  name: 'Commit status',
  action_type: 'deploy',
  target_url: 'https://example.com/status/{{ action.status }}',
  settings: {
    request_headers: [{ name: 'X-Token', value: '{{ application.name }}' }],
    request_body: { state: '{{ action.status }}', nested: { list: [1, '{{ application.name }}'] } },
  },
  trigger_when: { events: ['action.status_changed'] },
}

const api = await openTestApp({ after })
const tree = await createTestTree(api.db)
const developer = await createMember(api.db, tree, 'developer')
const viewer = await createMember(api.db, tree, 'viewer')
const token = () => developer.token
const create = (type: 'incoming' | 'outgoing', body: object, as = token(), pipeline = tree.pipelineId) =>
  api.request('POST', `/pipelines/${pipeline}/hooks/${type}`, { token: as, body })

test('creating an incoming hook returns its URL and, once, its secret', async () => {
  const { status, body, headers } = await create('incoming', INCOMING)
  assert.equal(status, 201)
  assert.ok(headers.etag)
  assert.match(body.secret, /^[0-9a-f]{64}$/)
  assert.match(body.url, new RegExp(`^${TEST_BASE_URL}/hooks/[\\w-]{43}/trigger$`))
  assert.ok(!body.url.includes(body.id), 'the id is shown in many places and must not be a key')
  assert.deepEqual(body.settings.variables, [
    { ...INCOMING.settings.variables[0], default_value: null },
    INCOMING.settings.variables[1],
  ])
  assert.deepEqual(body.settings.rate_limit, { per_second: 1000, burst: 2000 })
  assert.deepEqual(body.trigger_when, { conditions: [] })
  assert.equal(body.created_by_user.id, developer.id)
  assert.equal(body.target_url, null)
  const read = await api.request('GET', `/hooks/incoming/${body.id}`, { token: token() })
  assert.deepEqual(read.body, { ...body, secret: '********' })
})

test('a hook that requires no secret has none', async () => {
  const { body } = await create('incoming', { name: 'Open' })
  assert.equal(body.requires_secret, false)
  assert.equal(body.secret, null)
  assert.equal(body.action_type, 'deploy')
})

test('a secret dictated by the sender is accepted', async () => {
  const { body } = await create('incoming', {
    name: 'Given',
    requires_secret: true,
    secret: 'sixteen-or-more!',
  })
  assert.equal(body.secret, 'sixteen-or-more!')
})

test('creating an outgoing hook returns its signing secret', async () => {
  const { status, body } = await create('outgoing', OUTGOING)
  assert.equal(status, 201)
  assert.match(body.secret, /^whsec_[A-Za-z0-9+/]{43}=$/)
  assert.equal(body.url, null)
  assert.equal(body.requires_secret, null)
  assert.equal(body.verify_ssl, true)
  assert.deepEqual(body.settings, { ...OUTGOING.settings, request_method: 'POST', timeout_seconds: 15 })
  assert.deepEqual(body.trigger_when, {
    events: ['action.status_changed'],
    conditions: [],
    scope: 'pipeline',
  })
})

test('secrets and URLs are not stored as plain text', async () => {
  const { body } = await create('incoming', INCOMING)
  const row = await api.db.selectFrom('hooks').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
  const stored = JSON.stringify(row, (_key, value) =>
    value?.type === 'Buffer' ? Buffer.from(value.data).toString('latin1') : value,
  )
  assert.ok(!stored.includes(body.secret))
  assert.ok(!stored.includes(body.url.split('/').at(-2)))
})

test('hooks of both directions are listed together, newest first', async () => {
  const other = await createTestTree(api.db)
  const incoming = (await create('incoming', INCOMING, other.owner.token, other.pipelineId)).body
  const outgoing = (await create('outgoing', OUTGOING, other.owner.token, other.pipelineId)).body
  const list = (query = '') =>
    api.request('GET', `/pipelines/${other.pipelineId}/hooks${query}`, { token: other.owner.token })
  const all = await list()
  assert.deepEqual(all.body, [
    { ...outgoing, secret: '********' },
    { ...incoming, secret: '********' },
  ])
  assert.equal(all.headers['x-total-count'], '2')
  assert.deepEqual(
    (await list('?filter[type]=incoming')).body.map((one: { id: string }) => one.id),
    [incoming.id],
  )
  assert.deepEqual((await list('?filter[active]=false')).body, [])
  const second = await list('?per_page=1&page=2')
  assert.deepEqual(
    second.body.map((one: { id: string }) => one.id),
    [incoming.id],
  )
  assert.match(second.headers.link!, /page=1>; rel="prev"/)
  const beyond = await list('?per_page=1&page=9')
  assert.deepEqual(beyond.body, [])
  assert.equal(beyond.headers['x-total-count'], '2')
})

test('a list without per_page shows every hook of the pipeline', async () => {
  const other = await createTestTree(api.db)
  for (let i = 0; i < 30; i += 1)
    await create('incoming', { name: `Hook ${i}` }, other.owner.token, other.pipelineId)
  const { body } = await api.request('GET', `/pipelines/${other.pipelineId}/hooks`, {
    token: other.owner.token,
  })
  assert.equal(body.length, 30)
})

test('callers without hook:edit see neither its URL nor its secret', async () => {
  const { body } = await create('incoming', INCOMING)
  const read = await api.request('GET', `/hooks/incoming/${body.id}`, { token: viewer.token })
  assert.equal(read.body.url, `${TEST_BASE_URL}/hooks/********/trigger`)
  assert.equal(read.body.secret, '********')
  const list = await api.request('GET', `/pipelines/${tree.pipelineId}/hooks`, { token: viewer.token })
  assert.ok(!list.text.includes(body.url))
})

test('a change replaces the given fields as a whole and keeps the rest', async () => {
  const { body } = await create('incoming', { ...INCOMING, active: false })
  const changed = await api.request('PUT', `/hooks/incoming/${body.id}`, {
    token: token(),
    body: { name: 'Renamed', settings: { variables: [] } },
  })
  assert.equal(changed.status, 200)
  assert.equal(changed.body.name, 'Renamed')
  assert.deepEqual(changed.body.settings.variables, [])
  assert.equal(changed.body.active, false)
  assert.equal(changed.body.requires_secret, true)
  assert.equal(changed.body.url, body.url)
  assert.equal(changed.body.secret, '********')
})

test('a change with an outdated If-Match is rejected', async () => {
  const { body, headers } = await create('outgoing', OUTGOING)
  const change = (name: string, etag: string) =>
    api.request('PUT', `/hooks/outgoing/${body.id}`, {
      token: token(),
      body: { name },
      headers: { 'if-match': etag },
    })
  const first = await change('First', headers.etag!)
  assert.equal(first.status, 200)
  const second = await change('Second', headers.etag!)
  assert.equal(second.status, 412)
  assert.equal(second.body.code, 'precondition_failed')
  assert.equal((await change('Third', first.headers.etag!)).status, 200)
  assert.equal((await change('Fourth', '*')).status, 200)
})

test('a hook that starts to require a secret gets one and shows it', async () => {
  const { body } = await create('incoming', { name: 'Open' })
  const changed = await api.request('PUT', `/hooks/incoming/${body.id}`, {
    token: token(),
    body: { requires_secret: true },
  })
  assert.match(changed.body.secret, /^[0-9a-f]{64}$/)
  assert.equal(changed.body.secret_algorithm, 'sha256')
  assert.equal(changed.body.secret_header_name, 'X-Hub-Signature-256')
  const again = await api.request('PUT', `/hooks/incoming/${body.id}`, {
    token: token(),
    body: { requires_secret: true },
  })
  assert.equal(again.body.secret, '********')
})

test('rotation shows the new secret once and keeps the old one valid for the overlap', async () => {
  for (const [type, input] of [
    ['incoming', INCOMING],
    ['outgoing', OUTGOING],
  ] as const) {
    const { body } = await create(type, input)
    const rotate = (more: object = {}) =>
      api.request('POST', `/hooks/${type}/${body.id}/rotate-secret`, { token: token(), ...more })
    const stored = () =>
      api.db.selectFrom('hooks').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
    const rotated = await rotate()
    assert.equal(rotated.status, 200)
    assert.notEqual(rotated.body.secret, body.secret)
    const row = await stored()
    assert.equal(api.box.open(row.previous_secret!, `hooks/${body.id}/secret`), body.secret)
    assert.equal(api.box.open(row.secret!, `hooks/${body.id}/secret`), rotated.body.secret)
    const seconds = (Date.parse(row.previous_secret_until!) - Date.now()) / 1000
    assert.ok(seconds > 86_300 && seconds <= 86_401, `overlap of ${seconds} s`)
    await rotate({ body: { overlap_seconds: 0 } })
    assert.equal((await stored()).previous_secret, null)
  }
})

test('an unsigned hook has no secret to rotate', async () => {
  const { body } = await create('incoming', { name: 'Open' })
  const rotated = await api.request('POST', `/hooks/incoming/${body.id}/rotate-secret`, { token: token() })
  assert.equal(rotated.status, 409)
})

test('a removed hook is gone, and its secrets with it', async () => {
  const { body } = await create('incoming', INCOMING)
  const address = `/hooks/incoming/${body.id}`
  assert.equal(
    (
      await api.request('DELETE', address, {
        token: token(),
        headers: { 'content-type': 'application/json' },
      })
    ).status,
    204,
  )
  assert.equal((await api.request('GET', address, { token: token() })).status, 404)
  assert.equal((await api.request('DELETE', address, { token: token() })).status, 404)
  const row = await api.db.selectFrom('hooks').selectAll().where('id', '=', body.id).executeTakeFirstOrThrow()
  assert.deepEqual([row.secret, row.url_token, row.url_token_hash, row.active], [null, null, null, false])
})

test('a hook is found only under its own direction', async () => {
  const { body } = await create('incoming', INCOMING)
  assert.equal((await api.request('GET', `/hooks/outgoing/${body.id}`, { token: token() })).status, 404)
})

test('hooks of a server pipeline require server:view, not application:view', async () => {
  const restart = await create(
    'incoming',
    { name: 'Restart', action_type: 'restart' },
    token(),
    tree.serverPipelineId,
  )
  assert.equal(restart.status, 201)
  assert.equal(restart.body.resource_type, 'server')
  const role = await api.db
    .insertInto('roles')
    .values({
      organization_id: tree.organizationId,
      name: 'Server hooks',
      permissions: ['pipeline:view', 'server:view', 'hook:view', 'hook:add'],
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const person = await createMember(api.db, tree, 'viewer')
  await api.db
    .updateTable('grants')
    .set({ built_in_role: null, role_id: role.id })
    .where('user_id', '=', person.id)
    .execute()
  assert.equal((await create('incoming', { name: 'A' }, person.token, tree.serverPipelineId)).status, 201)
  const rejected = await create('incoming', { name: 'B' }, person.token)
  assert.equal(rejected.status, 403)
  assert.match(rejected.body.message, /application:view/)
})

test('a pipeline has at most 200 hooks, even under concurrent creation', async () => {
  const other = await createTestTree(api.db)
  await api.db
    .insertInto('hooks')
    .values(
      Array.from({ length: 195 }, () => ({
        id: crypto.randomUUID(),
        pipeline_id: other.pipelineId,
        environment_id: other.environmentId,
        type: 'outgoing' as const,
        name: 'Filler',
        action_type: 'deploy',
        secret: Buffer.from('sealed'),
        target_url: 'https://example.com',
        verify_ssl: true,
        settings: '{}',
        trigger_when: '{}',
        created_by: other.owner.id,
        edited_by: other.owner.id,
      })),
    )
    .execute()
  const attempts = await Promise.all(
    Array.from({ length: 12 }, () =>
      create('incoming', { name: 'Late' }, other.owner.token, other.pipelineId),
    ),
  )
  const statuses = attempts.map((one) => one.status).sort()
  assert.deepEqual(statuses, [...Array(5).fill(201), ...Array(7).fill(409)])
})

test('invalid bodies are rejected with every error named, and nothing is stored', async () => {
  const count = async () => (await api.db.selectFrom('hooks').select('id').execute()).length
  const earlier = await count()
  const table: ['incoming' | 'outgoing', object, string[]][] = [
    ['incoming', {}, ['name']],
    ['incoming', { name: ' ' }, ['name']],
    ['incoming', { name: 'x'.repeat(61) }, ['name']],
    ['incoming', { name: 'x', require_secret: true }, ['require_secret']],
    ['incoming', { name: 'x', requires_secret: 'yes', secret: 'short' }, ['requires_secret', 'secret']],
    [
      'incoming',
      { name: 'x', secret_algorithm: 'md5', secret_header_name: 'X-A\r\nX-B: 1' },
      ['secret_algorithm', 'secret_header_name'],
    ],
    ['incoming', { name: 'x', action_type: 'restart' }, ['action_type']],
    [
      'incoming',
      { name: 'x', settings: { variables: [{ name: '1x', type: 'float' }] } },
      ['settings.variables.0.required', 'settings.variables.0.name', 'settings.variables.0.type'],
    ],
    [
      'incoming',
      { name: 'x', settings: { rate_limit: { per_second: 0, burst: 1.5 } } },
      ['settings.rate_limit.per_second', 'settings.rate_limit.burst'],
    ],
    [
      'incoming',
      { name: 'x', trigger_when: { conditions: [{ path: 'a', accepted_values: [] }] } },
      ['trigger_when.conditions.0.accepted_values'],
    ],
    [
      'incoming',
      {
        name: 'x',
        trigger_when: {
          conditions: [
            { path: 'a' },
            { equals: 1 },
            { path: 'a', header: 'X-A', equals: 1 },
            { path: 'a', equals: 1, one_of: [1] },
            { path: 'a', matches: '{a' },
            { path: 'a', matches: '!a' },
            { header: 'authorization', exists: true },
            { header: 'X-Hub-Signature-256', exists: true },
            { any_of: [{ path: 'a..b', equals: 1 }], not: true },
          ],
        },
      },
      [
        'trigger_when.conditions.0.equals',
        'trigger_when.conditions.1.path',
        'trigger_when.conditions.2.header',
        'trigger_when.conditions.3.one_of',
        'trigger_when.conditions.4.matches',
        'trigger_when.conditions.5.matches',
        'trigger_when.conditions.6.header',
        'trigger_when.conditions.7.header',
        'trigger_when.conditions.8.not',
        'trigger_when.conditions.8.any_of.0.path',
      ],
    ],
    [
      'incoming',
      { name: 'x', trigger_when: { conditions: [{ any_of: [{ any_of: [{ path: 'a', equals: 1 }] }] }] } },
      ['trigger_when.conditions.0.any_of.0.any_of'],
    ],
    [
      'incoming',
      { name: 'x', trigger_when: { conditions: [{ path: 'a', matches: 'x'.repeat(257) }, { any_of: [] }] } },
      ['trigger_when.conditions.0.matches', 'trigger_when.conditions.1.any_of'],
    ],
    [
      'incoming',
      {
        name: 'x',
        trigger_when: { conditions: Array(6).fill({ any_of: Array(20).fill({ path: 'a', equals: 1 }) }) },
      },
      ['trigger_when.conditions'],
    ],
    [
      'incoming',
      { name: 'x', trigger_when: { paths: ['api/**', '/api', 'docs/', '{a'] } },
      ['trigger_when.paths.1', 'trigger_when.paths.2', 'trigger_when.paths.3'],
    ],
    [
      'outgoing',
      { ...OUTGOING, trigger_when: { conditions: [{ header: 'X-A', exists: true }] } },
      ['trigger_when.conditions.0.header'],
    ],
    ['incoming', { name: 'x', active: null }, ['active']],
    ['outgoing', { name: 'x' }, ['target_url']],
    ['outgoing', { name: 'x', target_url: 'ftp://example.com' }, ['target_url']],
    ['outgoing', { name: 'x', target_url: `https://example.com/${'a'.repeat(2048)}` }, ['target_url']],
    [
      'outgoing',
      { ...OUTGOING, settings: { request_headers: [{ name: 'X A', value: 'a\nb' }] } },
      ['settings.request_headers.0.name', 'settings.request_headers.0.value'],
    ],
    [
      'outgoing',
      { ...OUTGOING, settings: { request_body: 'text', timeout_seconds: 31, request_method: 'TRACE' } },
      ['settings.request_body', 'settings.timeout_seconds', 'settings.request_method'],
    ],
    ['outgoing', { ...OUTGOING, trigger_when: { events: [] } }, ['trigger_when.events']],
    ['outgoing', { ...OUTGOING, trigger_when: { events: ['action.exploded'] } }, ['trigger_when.events.0']],
    ['outgoing', { ...OUTGOING, name: 'a\u0000b' }, ['name']],
    ['outgoing', { ...OUTGOING, settings: { request_body: { 'a\ud800': 1 } } }, ['settings.request_body']],
  ]
  for (const [type, input, fields] of table) {
    const { status, body } = await create(type, input)
    assert.equal(status, 422, JSON.stringify(input))
    assert.deepEqual(Object.keys(body.errors).sort(), [...fields].sort(), JSON.stringify(input))
  }
  assert.equal(await count(), earlier)
})

test('a pipeline of another organization does not exist for outsiders', async () => {
  const outsider = await createTestTree(api.db)
  const { body } = await create('incoming', INCOMING)
  const attempts = [
    create('incoming', INCOMING, outsider.owner.token),
    api.request('GET', `/pipelines/${tree.pipelineId}/hooks`, { token: outsider.owner.token }),
    api.request('GET', `/hooks/incoming/${body.id}`, { token: outsider.owner.token }),
    api.request('PUT', `/hooks/incoming/${body.id}`, { token: outsider.owner.token, body: { name: 'x' } }),
    api.request('DELETE', `/hooks/incoming/${body.id}`, { token: outsider.owner.token }),
    api.request('POST', `/hooks/incoming/${body.id}/rotate-secret`, { token: outsider.owner.token }),
  ]
  assert.deepEqual(
    (await Promise.all(attempts)).map((one) => one.status),
    Array(6).fill(404),
  )
})

test('a signature header that clients and proxies set is rejected; hooks that have one keep working', async () => {
  const errors = ({ status, body }: { status: number; body: { errors: object } }) => [
    status,
    ...Object.keys(body.errors),
  ]
  const refused = [422, 'secret_header_name']
  assert.deepEqual(
    errors(await create('incoming', { ...INCOMING, secret_header_name: 'user-AGENT' })),
    refused,
  )
  const { body } = await create('incoming', INCOMING)
  const change = (input: object) =>
    api.request('PUT', `/hooks/incoming/${body.id}`, { token: token(), body: input })
  assert.deepEqual(errors(await change({ secret_header_name: 'X-Forwarded-Signature' })), refused)
  await api.db.updateTable('hooks').set({ secret_header_name: 'Date' }).where('id', '=', body.id).execute()
  assert.equal((await change({ name: 'Renamed' })).body.secret_header_name, 'Date')
  assert.equal((await change({ name: 'Again', secret_header_name: 'Date' })).status, 200)
  assert.deepEqual(errors(await change({ secret_header_name: 'Cookie' })), refused)
  const signed = await api.request('POST', new URL(body.url).pathname, {
    rawBody: '{"ref":"main"}',
    headers: {
      'content-type': 'application/json',
      date: createHmac('sha256', body.secret).update('{"ref":"main"}').digest('hex'),
    },
  })
  assert.equal(signed.status, 202, signed.text)
})
