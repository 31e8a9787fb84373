// Errors before validation and their order, and the responses to internal failures.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ERROR_CODES } from '#platform/http/errors.ts'
import { administer } from '#test/support/database.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { assertInvalid, assertRefused } from '#test/support/refusals.ts'
import { createHook, createMember, createPerson, createTestTree } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })
const tree = await createTestTree(db)
const { token } = tree.owner
const hooks = `/pipelines/${tree.pipelineId}/hooks`

const MIB = 1024 * 1024
const TEXT = { 'content-type': 'text/plain' }
const IMAGES_ONLY = { accept: 'image/*' }

const post = (url: string, options: RequestOptions) => request('POST', url, { token, ...options })
const get = (url: string, options: RequestOptions = {}) => request('GET', url, { token, ...options })

suite('addresses and methods', () => {
  test('an unknown URL is 404, with and without a token', async () => {
    for (const url of ['/nowhere', '/Actions', '/actions/1/2', '/hooks/sideways/1', '/.env']) {
      assertRefused(await get(url), 'unknown_route')
      assertRefused(await request('GET', url), 'unknown_route')
    }
  })

  test('the response to an unknown URL names the nearest route, and nothing of the URL', async () => {
    const { body } = await request('GET', '/api/v1/action/7?secret=x')
    assert.match(body.message, /Did you mean \/actions\/\{action_id\}\?/)
    const { text } = await request('POST', '/hook/gty_hk_secret/trigger', { rawBody: '{}' })
    assert.match(text, /\/hooks\/\{token\}\/trigger/)
    assert.doesNotMatch(text, /secret/)
  })

  test('another method on a known URL is 405 and lists the supported ones', async () => {
    const cases: [string, string, string][] = [
      ['POST', '/actions', 'GET, HEAD'],
      ['PATCH', '/actions/1', 'GET, HEAD'],
      ['GET', '/apply', 'POST'],
      ['OPTIONS', '/organizations', 'GET, HEAD, POST'],
      ['QUERY', '/actions', 'GET, HEAD'],
      ['PUT', '/users/personal-access-tokens/1?x=1', 'DELETE'],
    ]
    for (const [method, url, allow] of cases) {
      const answer = await request(method, url)
      assertRefused(answer, 'method_not_allowed')
      assert.equal(answer.headers.allow, allow)
    }
  })

  test('an unknown URL or method is rejected before the body is read', async () => {
    for (const options of [
      { rawBody: '{' },
      { rawBody: 'x', headers: TEXT },
      { rawBody: Buffer.alloc(2 * MIB) },
    ]) {
      assertRefused(await post('/nowhere', options), 'unknown_route')
      assertRefused(await post('/actions', options), 'method_not_allowed')
    }
  })

  test('an invalid escape in a URL is 400', async () => {
    for (const url of ['/actions/%E0%A4%A', '/actions/%', '/%zz']) assertRefused(await get(url), 'malformed')
  })

  test('a URL with a very long segment is 414', async () => {
    assertRefused(await get(`/actions/${'1'.repeat(600)}`), 'uri_too_long')
  })

  test('HEAD responds like GET, without the body', async () => {
    const found = await request('HEAD', '/users/me', { token })
    assert.equal(found.status, 200)
    assert.equal(found.text, '')
    const refused = await request('HEAD', '/users/me')
    assert.equal(refused.status, 401)
    assert.equal(refused.text, '')
    assert.ok(refused.headers['x-request-id'])
  })
})

suite('headers', () => {
  test('a caller that does not accept JSON gets 406', async () => {
    for (const accept of ['application/xml', 'application/json;q=0', 'image/*, text/*']) {
      assertRefused(await get('/actions', { headers: { accept } }), 'not_acceptable')
      assertRefused(await request('GET', '/', { headers: { accept } }), 'not_acceptable')
    }
  })

  const browser = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8'

  test('a browser that opens the URL of an API route gets JSON', async () => {
    for (const accept of ['text/html', browser]) {
      const { status, headers } = await get('/actions', { headers: { accept } })
      assert.equal(status, 200)
      assert.match(headers['content-type']!, /^application\/json/)
      assertRefused(await request('GET', '/actions', { headers: { accept } }), 'unauthenticated')
    }
  })

  test('the root redirects browsers to the dashboard, and tells programs the version', async () => {
    for (const accept of ['text/html', browser]) {
      for (const method of ['GET', 'HEAD']) {
        const { status, headers } = await request(method, '/', { headers: { accept } })
        assert.deepEqual([status, headers.location, headers.vary], [302, '/app', 'Accept'])
      }
    }
    for (const accept of ['*/*', 'application/json', 'application/json, text/html']) {
      const { status, headers, body } = await request('GET', '/', { headers: { accept } })
      assert.deepEqual([status, headers.vary, body.name], [200, 'Accept', 'Gantry'])
    }
  })

  test('probes and pages ignore Accept', async () => {
    for (const url of ['/healthz', '/readyz', '/docs']) {
      assert.equal((await request('GET', url, { headers: { accept: 'image/png' } })).status, 200, url)
    }
  })

  test('a body that is not declared as JSON is 415', async () => {
    const types = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'garbage',
      'text/json',
    ]
    for (const type of types) {
      const options = { rawBody: '{"name":"x"}', headers: { 'content-type': type } }
      assertRefused(await post('/users/personal-access-tokens', options), 'unsupported_media_type')
    }
  })

  test('every notation of the JSON type is accepted', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.x+json']) {
      const options = { rawBody: '{"name":"x"}', headers: { 'content-type': type } }
      assert.equal((await post('/users/personal-access-tokens', options)).status, 201, type)
    }
  })

  test('GET requires neither header, and accepts both', async () => {
    assert.equal((await get('/users/me')).status, 200)
    assert.equal((await get('/users/me', { headers: TEXT })).status, 200)
  })

  test('every response has its own id and the security headers', async () => {
    const answers = [
      await get('/users/me'),
      await request('GET', '/docs'),
      await get('/nowhere'),
      await request('GET', '/actions'),
    ]
    assert.equal(new Set(answers.map(({ headers }) => headers['x-request-id'])).size, answers.length)
    for (const { headers } of answers) {
      assert.equal(headers['x-content-type-options'], 'nosniff')
      assert.equal(headers['referrer-policy'], 'no-referrer')
      assert.match(
        headers['content-security-policy']!,
        /^default-src '(self|none)';.*frame-ancestors 'none'$/,
      )
      assert.match(headers['strict-transport-security']!, /max-age=\d+/)
      assert.equal(headers['x-powered-by'], undefined)
    }
  })

  test('the caller cannot choose the request id', async () => {
    const { headers } = await get('/users/me', { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } })
    assert.match(headers['x-request-id']!, /^[0-9a-f-]{36}$/)
  })
})

suite('the order of checks', () => {
  const invisible = { rawBody: '{', headers: { ...IMAGES_ONLY, ...TEXT } }

  test('without a token everything is 401, even what does not exist', async () => {
    for (const id of [tree.pipelineId, 999_999, 'abc']) {
      assertRefused(await request('POST', `/pipelines/${id}/hooks/incoming`, invisible), 'unauthenticated')
    }
  })

  test('an invalid request about an invisible object is 404', async () => {
    const stranger = await createPerson(db)
    for (const id of [tree.pipelineId, 999_999]) {
      const answer = await request('POST', `/pipelines/${id}/hooks/incoming`, {
        ...invisible,
        token: stranger.token,
      })
      assertRefused(answer, 'not_found')
    }
  })

  test('an invalid request without permission is 403', async () => {
    const viewer = await createMember(db, tree, 'viewer')
    const answer = await post(`${hooks}/incoming`, { ...invisible, token: viewer.token })
    assertRefused(answer, 'forbidden')
    assert.equal(answer.body.message, 'This requires the permission hook:add.')
  })

  test('then come Accept, type, size, syntax, and finally the values', async () => {
    const accept = { ...IMAGES_ONLY, ...TEXT }
    const large = Buffer.alloc(2 * MIB, 0x7b)
    assertRefused(await post(`${hooks}/incoming`, { rawBody: large, headers: accept }), 'not_acceptable')
    assertRefused(
      await post(`${hooks}/incoming`, { rawBody: large, headers: TEXT }),
      'unsupported_media_type',
    )
    assertRefused(await post(`${hooks}/incoming`, { rawBody: large }), 'too_large')
    assertRefused(await post(`${hooks}/incoming?page=x`, { rawBody: '{' }), 'malformed')
    assertInvalid(await post(`${hooks}/incoming`, { body: {} }), 'name')
  })

  test('invalid values are reported before a conflicting state', async () => {
    const full = await createTestTree(db)
    const url = `/pipelines/${full.pipelineId}/hooks/incoming`
    const create = (body: object) => request('POST', url, { token: full.owner.token, body })
    await Promise.all(Array.from({ length: 200 }, () => createHook(db, full, 'outgoing')))
    assertInvalid(await create({ name: '' }), 'name')
    assertInvalid(await create({ name: 'x', action_type: 'restart' }), 'action_type')
    assertRefused(await create({ name: 'x' }), 'conflict')
  })

  test('invalid values are reported before an If-Match that does not match', async () => {
    const { body: hook } = await post(`${hooks}/incoming`, { body: { name: 'x' } })
    const change = (body: object) =>
      request('PUT', `/hooks/incoming/${hook.id}`, { token, body, headers: { 'if-match': '"0"' } })
    assertInvalid(await change({ name: '' }), 'name')
    assertRefused(await change({ name: 'y' }), 'precondition_failed')
  })
})

test('during a database outage everything is 503 with Retry-After, and works again afterwards', async (t) => {
  const test = await openTestApp(t, {
    health: { checkDatabase: async () => void (await sql`select 1`.execute(test.db)) },
  })
  const person = await createPerson(test.db)
  const { database } = test.settings
  await administer(`alter database ${database} allow_connections false`)
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`)
  const login = { email: person.email, password: 'x' }
  const answers = await Promise.all([
    test.request('GET', '/users/me', { token: person.token }),
    test.request('GET', '/actions', { token: person.token }),
    test.request('POST', '/users/login', { body: login }),
    test.request('POST', '/users/refresh-token', { body: { refresh_token: 'x' } }),
    test.request('GET', '/healthz'),
  ])
  const ready = await test.request('GET', '/readyz')
  assertRefused(ready, 'database_unreachable')
  assert.equal(ready.headers['retry-after'], '2')
  assert.doesNotMatch(ready.body.message, /database/i)
  for (const answer of answers) {
    assertRefused(answer, 'unavailable')
    assert.equal(answer.headers['retry-after'], '2')
  }
  assert.equal((await test.request('GET', '/')).status, 200)
  await administer(`alter database ${database} allow_connections true`)
  assert.equal((await test.request('GET', '/users/me', { token: person.token })).status, 200)
  assert.equal((await test.request('GET', '/healthz')).status, 200)
})

test('a service whose queue does not work is alive but not ready', async (t) => {
  const { request } = await openTestApp(t, { health: { isQueueWorking: async () => false } })
  assert.equal((await request('GET', '/healthz')).status, 200)
  const answer = await request('GET', '/readyz')
  assertRefused(answer, 'queue_stalled')
  assert.equal(answer.headers['retry-after'], '2')
})

test('a process whose database was migrated by a newer release takes nothing, and says which one to start', async (t) => {
  let refusal: string | null = null
  const { request, db } = await openTestApp(t, { health: { refusal: () => refusal } })
  const admin = await createPerson(db, { admin: true })
  assert.equal((await request('GET', '/readyz')).status, 200)
  refusal = 'This database belongs to a newer Gantry.'
  for (const [method, url] of [
    ['GET', '/actions'],
    ['POST', '/hooks/unknown/trigger'],
    ['POST', '/users/login'],
  ] as const) {
    const answer = await request(method, url)
    assertRefused(answer, 'unavailable')
    assert.equal(answer.body.message, refusal)
  }
  const ready = await request('GET', '/readyz')
  assertRefused(ready, 'outgrown')
  assert.notEqual(ready.body.message, refusal)
  assert.equal((await request('GET', '/readyz', { token: admin.token })).body.message, refusal)
  assert.equal((await request('GET', '/healthz')).status, 200)
})

test('an internal error is 500 without internal details', async (t) => {
  const fault = async () => {
    throw new Error('select secret from /srv/gantry/app.ts')
  }
  const { request, db } = await openTestApp(t, { health: { deadLetters: fault } })
  const admin = await createPerson(db, { admin: true })
  assertRefused(await request('GET', '/jobs/dead-letters', { token: admin.token }), 'internal')
})

test('docs/errors.md lists every code with its status, and no other', async () => {
  const text = await readFile(new URL('../../docs/errors.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)]
  const documented = rows.map(([, code, status]) => [code, Number(status)])
  assert.deepEqual(documented, Object.entries(ERROR_CODES))
})
