// Invalid bodies, ids and queries, and the errors about them.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { assertInvalid, assertRefused } from '#test/support/refusals.ts'
import { createAction, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const hooks = `/pipelines/${tree.pipelineId}/hooks`

const MIB = 1024 * 1024

const post = (url: string, options: RequestOptions) => request('POST', url, { token, ...options })
const get = (url: string, options: RequestOptions = {}) => request('GET', url, { token, ...options })

suite('bodies', () => {
  test('a body that is not JSON is 400 with the reason', async () => {
    const cases: [string | Buffer, RegExp][] = [
      ['{', /not valid JSON/],
      ["{'name':1}", /not valid JSON/],
      ['{\n  "name": hunter2\n}', /not valid JSON: line 2, column 11: expected a value/],
      ['\ufeff{"name":"x"}', /not valid JSON/],
      ['', /empty/],
      ['  \n', /empty/],
      [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), /UTF-8/],
      [Buffer.from('{"name":"x"}', 'utf16le'), /not valid JSON|UTF-8/],
      ['['.repeat(100_000), /not valid JSON/],
      ['['.repeat(100_000) + ']'.repeat(100_000), /deeper than 64/],
      ['{"name":"x","__proto__":{"admin":true}}', /__proto__/],
    ]
    for (const [rawBody, message] of cases) {
      const answer = await post(`${hooks}/incoming`, {
        rawBody,
        headers: { 'content-type': 'application/json' },
      })
      assertRefused(answer, 'malformed')
      assert.match(answer.body.message, message)
      assert.doesNotMatch(answer.body.message, /hunter2/)
    }
  })

  test('ten megabytes are 413, and so is one byte above the limit', async () => {
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(10 * MIB, 32) }), 'too_large')
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(MIB + 1, 32) }), 'too_large')
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(MIB, 32) }), 'malformed')
  })

  test('all errors of a body are reported at once', async () => {
    const body = {
      name: '',
      requires_secret: 'yes',
      require_secret: true,
      secret: 'short',
      settings: {
        variables: [
          { name: '1st', type: 'float' },
          { nam: 'x', required: null },
        ],
      },
      trigger_when: { conditions: [{ path: 'a', accepted_values: [] }] },
    }
    assertInvalid(
      await post(`${hooks}/incoming`, { body }),
      'name',
      'requires_secret',
      'require_secret',
      'secret',
      'settings.variables.0.name',
      'settings.variables.0.type',
      'settings.variables.0.required',
      'settings.variables.1.nam',
      'settings.variables.1.name',
      'settings.variables.1.type',
      'settings.variables.1.required',
      'trigger_when.conditions.0.accepted_values',
    )
  })

  test('an unknown field is reported with the known ones', async () => {
    const answer = await post('/users/personal-access-tokens', { body: { name: 'x', expires: null } })
    assertRefused(answer, 'invalid', {
      expires: ['is not recognized; expected: name, scopes, organization_ids, project_ids, expires_at'],
    })
  })

  test('a JSON value that is not an object is 422', async () => {
    for (const body of [null, [], 'text', 0, false]) {
      assertRefused(await post('/users/personal-access-tokens', { body }), 'invalid', {
        body: ['must be an object'],
      })
    }
  })

  test('a missing body is 422 where one is required', async () => {
    assertRefused(await post('/users/personal-access-tokens', {}), 'invalid', { body: ['must be an object'] })
  })

  test('text that PostgreSQL cannot store is 422 under its field, at any depth', async () => {
    const nul = await post(`${hooks}/incoming`, { rawBody: '{"name":"a\\u0000b"}' })
    assertRefused(nul, 'invalid', { name: ['must not contain the character U+0000'] })
    const half = await post(`${hooks}/outgoing`, {
      rawBody: '{"name":"x","target_url":"https://x.example","settings":{"request_body":{"a":["\\ud800"]}}}',
    })
    assertRefused(half, 'invalid', {
      'settings.request_body.a.0': ['must not contain half of a surrogate pair'],
    })
    const key = await post(`${hooks}/outgoing`, { rawBody: '{"settings":{"request_body":{"\\u0000":1}}}' })
    assertInvalid(key, 'settings.request_body')
  })
})

suite('ids and queries', () => {
  const wrongIds = [
    '0',
    '-1',
    '9223372036854775808',
    '9007199254740992',
    'abc',
    '1.5',
    '1e0',
    '0x1',
    '%201',
    '1%00',
    'null',
  ]

  test('an invalid id is 422', async () => {
    await createAction(db, tree)
    for (const id of wrongIds) {
      assertInvalid(await get(`/actions/${id}`), 'action_id')
      assertInvalid(await get(`/pipelines/${id}/hooks`), 'id')
      assertInvalid(await request('DELETE', `/users/personal-access-tokens/${id}`, { token }), 'id')
    }
  })

  test('the largest valid id is 404 when it does not exist', async () => {
    for (const url of ['/actions/9007199254740991', '/pipelines/9007199254740991/hooks']) {
      assertRefused(await get(url), 'not_found')
    }
  })

  test('a hook id that is not a UUID is 422', async () => {
    for (const id of [
      '1',
      'abc',
      '%00',
      '00000000-0000-0000-0000-00000000000g',
      '{00000000-0000-0000-0000-000000000000}',
    ]) {
      assertInvalid(await get(`/hooks/incoming/${id}`), 'hook_id')
    }
    assertRefused(await get('/hooks/incoming/00000000-0000-0000-0000-000000000000'), 'not_found')
  })

  test('page and per_page outside their bounds are 422', async () => {
    for (const list of ['/actions', '/users/personal-access-tokens', hooks]) {
      assertInvalid(await get(`${list}?page=0&per_page=101`), 'page', 'per_page')
      assertInvalid(await get(`${list}?page=-1&per_page=0`), 'page', 'per_page')
      assertInvalid(await get(`${list}?page=x&per_page=`), 'page', 'per_page')
      assertInvalid(await get(`${list}?page=1&page=2`), 'page')
      assertInvalid(await get(`${list}?page=-${10n ** 400n}&per_page=${10n ** 400n}`), 'page', 'per_page')
    }
  })

  test('an unknown filter is 422 and names the known ones', async () => {
    const answer = await get('/actions?filter[color]=red&filter[status]=failed')
    assertInvalid(answer, 'filter[color]')
    for (const name of ['organization_id', 'project_id', 'status', 'trigger_type', 'created_after']) {
      assert.ok(answer.body.errors['filter[color]'][0].includes(`filter[${name}]`), name)
    }
  })

  test('every invalid filter is reported at once', async () => {
    const query = 'filter[status]=lost&filter[project_id]=x&filter[hook_id]=1&filter[created_after]=yesterday'
    assertInvalid(
      await get(`/actions?${query}`),
      'filter[status]',
      'filter[project_id]',
      'filter[hook_id]',
      'filter[created_after]',
    )
  })

  test('an unknown parameter is 422', async () => {
    assertInvalid(await get('/actions?limit=5'), 'limit')
    assertInvalid(await get('/actions?__proto__=5&constructor=1'), '__proto__', 'constructor')
  })

  test('a query with U+0000 is 422', async () => {
    assertInvalid(await get('/actions?filter[status]=%00'), 'filter[status]')
    assertInvalid(await get('/users/me?x=%00'), 'x')
  })
})
