import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:net'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { ERROR_CODES, type ErrorCode } from '#http/errors.ts'
import { administer } from './database.ts'
import { type Answer, openTestApp, type RequestOptions } from './harness.ts'
import { createAction, createHook, createMember, createPerson, createTestTree } from './world.ts'

const app = await openTestApp({ after })
const { db, request } = app
const tree = await createTestTree(db)
const { token } = tree.owner
const hooks = `/pipelines/${tree.pipelineId}/hooks`

const MIB = 1024 * 1024
const TEXT = { 'content-type': 'text/plain' }
const HTML_ONLY = { accept: 'text/html' }

/** The contract's form, and nothing of the inside of the service in it. */
function assertRefused(
  answer: Answer,
  code: ErrorCode,
  errors: Record<string, string[]> | null = null,
): void {
  assert.equal(answer.status, ERROR_CODES[code], answer.text)
  assert.deepEqual(Object.keys(answer.body), ['message', 'errors', 'code', 'request_id'])
  assert.equal(answer.body.code, code)
  assert.ok(answer.body.message.length > 0)
  assert.deepEqual(answer.body.errors, errors)
  assert.match(answer.body.request_id, /^[0-9a-f-]{36}$/)
  assert.equal(answer.headers['x-request-id'], answer.body.request_id)
  assert.match(answer.headers['content-type']!, /^application\/json/)
  assert.doesNotMatch(answer.text, /node_modules|\.ts\b|file:|\bat \w+ \(|\bselect\b|\brelation\b/i)
}

/** As above, for faults whose texts are told elsewhere. */
function assertInvalid(answer: Answer, ...fields: string[]): void {
  assertRefused(answer, 'invalid', answer.body.errors)
  assert.deepEqual(Object.keys(answer.body.errors).sort(), fields.sort())
}

const post = (url: string, options: RequestOptions) => request('POST', url, { token, ...options })
const get = (url: string, options: RequestOptions = {}) => request('GET', url, { token, ...options })

suite('addresses and methods', () => {
  test('an unknown address is 404, with and without a token', async () => {
    for (const url of ['/nowhere', '/Actions', '/actions/1/2', '/hooks/sideways/1', '/.env']) {
      assertRefused(await get(url), 'not_found')
      assertRefused(await request('GET', url), 'not_found')
    }
  })

  test('another method on a known address is 405 and names those that there are', async () => {
    const cases: [string, string, string][] = [
      ['POST', '/actions', 'GET, HEAD'],
      ['PATCH', '/actions/1', 'GET, HEAD'],
      ['GET', '/users/login', 'POST'],
      ['OPTIONS', '/users/personal-access-tokens', 'GET, HEAD, POST'],
      ['QUERY', '/actions', 'GET, HEAD'],
      ['PUT', '/users/personal-access-tokens/1?x=1', 'DELETE'],
    ]
    for (const [method, url, allow] of cases) {
      const answer = await request(method, url)
      assertRefused(answer, 'method_not_allowed')
      assert.equal(answer.headers.allow, allow)
    }
  })

  test('an unknown address or method is refused before a body is looked at', async () => {
    for (const options of [
      { rawBody: '{' },
      { rawBody: 'x', headers: TEXT },
      { rawBody: Buffer.alloc(2 * MIB) },
    ]) {
      assertRefused(await post('/nowhere', options), 'not_found')
      assertRefused(await post('/actions', options), 'method_not_allowed')
    }
  })

  test('a broken escape in an address is 400', async () => {
    for (const url of ['/actions/%E0%A4%A', '/actions/%', '/%zz']) assertRefused(await get(url), 'malformed')
  })

  test('an address with an endless part is 414', async () => {
    assertRefused(await get(`/actions/${'1'.repeat(600)}`), 'uri_too_long')
  })

  test('HEAD is answered like GET, without the body', async () => {
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
  test('whoever does not accept JSON gets 406', async () => {
    for (const accept of ['text/html', 'application/xml', 'application/json;q=0', 'image/*, text/*']) {
      assertRefused(await get('/actions', { headers: { accept } }), 'not_acceptable')
      assertRefused(await request('GET', '/', { headers: { accept } }), 'not_acceptable')
    }
  })

  test('probes and pages are answered whatever is accepted', async () => {
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

  test('every way to declare JSON is taken', async () => {
    for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/vnd.x+json']) {
      const options = { rawBody: '{"name":"x"}', headers: { 'content-type': type } }
      assert.equal((await post('/users/personal-access-tokens', options)).status, 201, type)
    }
  })

  test('GET needs neither header, and does not mind them', async () => {
    assert.equal((await get('/users/me')).status, 200)
    assert.equal((await get('/users/me', { headers: TEXT })).status, 200)
  })

  test('every answer carries an id of its own and the headers that keep browsers safe', async () => {
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
      assert.equal(headers['content-security-policy'], "default-src 'self';frame-ancestors 'none'")
      assert.match(headers['strict-transport-security']!, /max-age=\d+/)
      assert.equal(headers['x-powered-by'], undefined)
    }
  })

  test('the id of a request is ours, not the caller’s', async () => {
    const { headers } = await get('/users/me', { headers: { 'x-request-id': 'mine', 'request-id': 'mine' } })
    assert.match(headers['x-request-id']!, /^[0-9a-f-]{36}$/)
  })
})

suite('bodies', () => {
  test('a body that is not JSON is 400 and says why', async () => {
    const cases: [string | Buffer, RegExp][] = [
      ['{', /not valid JSON/],
      ["{'name':1}", /not valid JSON/],
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
    }
  })

  test('ten megabytes are 413, and so is one byte more than one', async () => {
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(10 * MIB, 32) }), 'too_large')
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(MIB + 1, 32) }), 'too_large')
    assertRefused(await post(`${hooks}/incoming`, { rawBody: Buffer.alloc(MIB, 32) }), 'malformed')
  })

  test('all faults of a body are told at once', async () => {
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

  test('an unknown field is named, and so are the known ones', async () => {
    const answer = await post('/users/personal-access-tokens', { body: { name: 'x', expires: null } })
    assertRefused(answer, 'invalid', { expires: ['is not known here; known: name, expires_at'] })
  })

  test('a JSON value that is not an object is 422', async () => {
    for (const body of [null, [], 'text', 0, false]) {
      assertRefused(await post('/users/personal-access-tokens', { body }), 'invalid', {
        body: ['must be an object'],
      })
    }
  })

  test('no body at all is 422 where one is needed', async () => {
    assertRefused(await post('/users/personal-access-tokens', {}), 'invalid', { body: ['must be an object'] })
  })

  test('text that PostgreSQL cannot store is 422 under its field, also deep inside', async () => {
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

  test('an id that cannot be one is 422', async () => {
    await createAction(db, tree)
    for (const id of wrongIds) {
      assertInvalid(await get(`/actions/${id}`), 'action_id')
      assertInvalid(await get(`/pipelines/${id}/hooks`), 'id')
      assertInvalid(await request('DELETE', `/users/personal-access-tokens/${id}`, { token }), 'id')
    }
  })

  test('the largest id that can be one is 404 when there is no such thing', async () => {
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
      assertInvalid(await get(`${list}?page=9223372036854775808`), 'page')
      assert.equal((await get(`${list}?page=1000000000&per_page=100`)).status, 200)
    }
  })

  test('an unknown filter is 422 and names the known ones', async () => {
    const answer = await get('/actions?filter[colour]=red&filter[status]=failed')
    assertInvalid(answer, 'filter[colour]')
    for (const name of ['organization_id', 'project_id', 'status', 'trigger_type', 'created_after']) {
      assert.ok(answer.body.errors['filter[colour]'][0].includes(`filter[${name}]`), name)
    }
  })

  test('every wrong filter is told at once', async () => {
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

suite('the order of checks', () => {
  const invisible = { rawBody: '{', headers: { ...HTML_ONLY, ...TEXT } }

  test('without a token everything is 401, also what does not exist', async () => {
    for (const id of [tree.pipelineId, 999_999, 'abc']) {
      assertRefused(await request('POST', `/pipelines/${id}/hooks/incoming`, invisible), 'unauthenticated')
    }
  })

  test('a bad request about something invisible is 404, as if it were not there', async () => {
    const stranger = await createPerson(db)
    for (const id of [tree.pipelineId, 999_999]) {
      const answer = await request('POST', `/pipelines/${id}/hooks/incoming`, {
        ...invisible,
        token: stranger.token,
      })
      assertRefused(answer, 'not_found')
    }
  })

  test('a bad request of someone who may not is 403', async () => {
    const viewer = await createMember(db, tree, 'viewer')
    const answer = await post(`${hooks}/incoming`, { ...invisible, token: viewer.token })
    assertRefused(answer, 'forbidden')
    assert.equal(answer.body.message, 'You need the permission hook:add here.')
  })

  test('then come Accept, type, size, syntax, and at last the values', async () => {
    const accept = { ...HTML_ONLY, ...TEXT }
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

  test('wrong values are told before a state that forbids the request', async () => {
    const full = await createTestTree(db)
    const url = `/pipelines/${full.pipelineId}/hooks/incoming`
    const create = (body: object) => request('POST', url, { token: full.owner.token, body })
    await Promise.all(Array.from({ length: 200 }, () => createHook(db, full, 'outgoing')))
    assertInvalid(await create({ name: '' }), 'name')
    assertInvalid(await create({ name: 'x', action_type: 'restart' }), 'action_type')
    assertRefused(await create({ name: 'x' }), 'conflict')
  })

  test('wrong values are told before an If-Match that does not match', async () => {
    const { body: hook } = await post(`${hooks}/incoming`, { body: { name: 'x' } })
    const change = (body: object) =>
      request('PUT', `/hooks/incoming/${hook.id}`, { token, body, headers: { 'if-match': '"0"' } })
    assertInvalid(await change({ name: '' }), 'name')
    assertRefused(await change({ name: 'y' }), 'precondition_failed')
  })
})

suite('over a real connection', () => {
  const TIMEOUT_MS = 200

  async function listen(t: Parameters<typeof openTestApp>[0]) {
    const test = await openTestApp(t, { environment: { GANTRY_REQUEST_TIMEOUT_MS: String(TIMEOUT_MS) } })
    await test.app.listen({ host: '127.0.0.1', port: 0 })
    const { port } = test.app.server.address() as AddressInfo
    return {
      ...test,
      speak: (...texts: string[]) => speak(port, texts),
      trickle: (text: string) => trickle(port, text),
    }
  }

  test('garbage is answered with 400', async (t) => {
    const { speak } = await listen(t)
    const wrong = [
      'hello\r\n\r\n',
      'GET / HTTP/9.9\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'GET /\x00 HTTP/1.1\r\nHost: x\r\n\r\n',
      'GET / HTTP/1.1\r\nHost: x\r\nBad Header: y\r\n\r\n',
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n',
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Length: -2\r\n\r\n',
    ]
    for (const text of wrong) assertRefused(await speak(text), 'malformed')
  })

  test('headers without end are answered with 431', async (t) => {
    const { speak } = await listen(t)
    assertRefused(
      await speak(`GET / HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`),
      'headers_too_large',
    )
  })

  test('a body announced as too large is refused before it is sent', async (t) => {
    const { speak } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'
    assertRefused(await speak(`${head}Content-Length: 10485760\r\n\r\n`), 'too_large')
  })

  test('a body that grows too large without announcing it is refused', async (t) => {
    const { speak } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Type: application/json\r\n'
    const chunk = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const answer = await speak(`${head}Transfer-Encoding: chunked\r\n\r\n`, ...Array<string>(17).fill(chunk))
    assertRefused(answer, 'too_large')
  })

  test('headers that trickle in are cut off with 408', async (t) => {
    const { trickle } = await listen(t)
    assertRefused(await trickle('GET / HTTP/1.1\r\nHost: x\r\nX-Slow: '), 'request_timeout')
  })

  test('a body that trickles in is cut off with 408', async (t) => {
    const { trickle } = await listen(t)
    const head =
      'POST /users/login HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 900000\r\n\r\n'
    assertRefused(await trickle(head), 'request_timeout')
  })

  test('a request line may name the whole address', async (t) => {
    const { speak, db } = await listen(t)
    const { token } = await createPerson(db)
    const rest = `HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Length: 0\r\n\r\n`
    const list = await speak(`GET http://proxy.example:8080/users/personal-access-tokens?per_page=5 ${rest}`)
    assert.equal(list.status, 200)
    const page = 'http://gantry.test/users/personal-access-tokens?per_page=5&page=1'
    assert.equal(list.headers.link, `<${page}>; rel="first", <${page}>; rel="last"`)
    assertRefused(await speak(`POST http://proxy.example/users/me ${rest}`), 'method_not_allowed')
  })
})

test('while the database is away everything is 503 with Retry-After, and works again when it is back', async (t) => {
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
    test.request('GET', '/readyz'),
  ])
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
  assertRefused(answer, 'unavailable')
  assert.equal(answer.headers['retry-after'], '2')
})

test('a fault of our own is 500 without a word about the inside', async (t) => {
  const fault = async () => {
    throw new Error('select secret from /srv/gantry/app.ts')
  }
  const { request, db } = await openTestApp(t, { health: { deadLetters: fault } })
  const admin = await createPerson(db, { admin: true })
  assertRefused(await request('GET', '/jobs/dead-letters', { token: admin.token }), 'internal')
})

test('docs/errors.md lists every code with its status, and no other', async () => {
  const text = await readFile(new URL('../docs/errors.md', import.meta.url), 'utf8')
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)]
  const documented = rows.map(([, code, status]) => [code, Number(status)])
  assert.deepEqual(documented, Object.entries(ERROR_CODES))
})

/** Sends raw text, one piece after the other as the connection takes them, and reads the answer to its end. */
function speak(port: number, texts: string[]): Promise<Answer> {
  return converse(port, (socket) => {
    for (const text of texts) socket.write(text, 'latin1')
  })
}

/** Sends a beginning and then a byte at a time, for as long as the other side listens. */
function trickle(port: number, beginning: string): Promise<Answer> {
  return converse(port, (socket) => {
    socket.write(beginning)
    const timer = setInterval(() => socket.write('x'), 20)
    socket.once('close', () => clearInterval(timer))
  })
}

function converse(port: number, talk: (socket: ReturnType<typeof connect>) => void): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => talk(socket))
    const chunks: Buffer[] = []
    // Whoever is cut off while sending may be told so by a reset, after the answer.
    socket.on('error', () => {})
    socket.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
    socket.on('close', () => {
      const [head = '', text = ''] = Buffer.concat(chunks).toString().split('\r\n\r\n')
      const [line = '', ...fields] = head.split('\r\n')
      const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(line)?.[1])
      if (Number.isNaN(status)) return reject(new Error(`No answer but: ${head}`))
      const headers = Object.fromEntries(
        fields.map((field) => [
          field.split(':', 1)[0]!.toLowerCase(),
          field.slice(field.indexOf(':') + 1).trim(),
        ]),
      )
      resolve({ status, headers, text, body: text === '' ? undefined : JSON.parse(text) })
    })
  })
}
