// Payloads of calls: those that are rejected, and unusual ones that are accepted.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { after, suite, type TestContext, test } from 'node:test'
import {
  assertRejected,
  assertStarted,
  bytesOf,
  type Hook,
  openCalls,
  pathOf,
  SIGNED,
  sign,
  withVariables,
} from '#test/support/calls.ts'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'

const { api, tree, makeHook, call, actionsOf, requestsOf, outcomesOf } = await openCalls({ after })

suite('invalid payloads', () => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)

  test('invalid JSON is 400, recorded, and starts nothing', async () => {
    const hook = await makeHook(withVariables({ name: 'a', required: false }))
    const bodies = [
      '',
      ' ',
      '{',
      '{"a":1,}',
      'NaN',
      '{"a":-Infinity}',
      'undefined',
      '{"a":01}',
      '{"a":1}//',
      '"\n"',
      '\0',
      '\uFEFF{}',
      "{'a':1}",
      '{"a":1}{"a":2}',
      'a=1',
      nested(200_000),
      '['.repeat(1_000_000),
    ]
    const invalid = [
      Buffer.from([0xff, 0xfe]),
      Buffer.from('{"a":"\xe4"}', 'latin1'),
      Buffer.from('{"a":"\xed\xa0\x80"}', 'latin1'),
    ]
    for (const body of [...bodies, ...invalid]) {
      const answer = await call(hook, body)
      assertRejected(answer, 400, 'malformed')
      assert.match(answer.body.message, /^The body is .+\.$/)
    }
    assert.deepEqual(new Set(await outcomesOf(hook)), new Set(['rejected_payload']))
    assert.equal((await requestsOf(hook)).length, bodies.length + invalid.length)
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('a call without any body is 400', async () => {
    const hook = await makeHook()
    assertRejected(await api.request('POST', pathOf(hook)), 400, 'malformed')
  })

  test('a body over the limit is 413 and stores nothing; one byte less is accepted', async () => {
    const hook = await makeHook()
    const most = 1024 * 1024
    assertRejected(await call(hook, `"${'x'.repeat(most - 1)}"`), 413, 'too_large')
    assert.deepEqual(await requestsOf(hook), [])
    assertStarted(await call(hook, `"${'x'.repeat(most - 2)}"`))
  })

  test('another content type is 415, recorded with its body, and reported only to authenticated callers', async () => {
    const hook = await makeHook(SIGNED)
    const types = ['text/plain', 'application/xml', 'multipart/form-data; boundary=x', 'nonsense', 'a/b/c']
    for (const type of types) {
      const headers = { 'content-type': type }
      const answer = await call(hook, '{}', { headers })
      assertRejected(answer, 415, 'unsupported_media_type')
      assertRejected(await call({ ...hook, secret: 'wrong' }, '{}', { headers }), 403, 'forbidden')
      const nowhere = { ...hook, url: `${TEST_BASE_URL}/hooks/nowhere/trigger` }
      assertRejected(await call(nowhere, '{}', { headers }), 404, 'not_found')
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

  test('a 422 reports all invalid variables at once', async () => {
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
    assertRejected(answer, 422, 'invalid')
    assert.deepEqual(Object.keys(answer.body.errors).sort(), [
      '__proto__',
      'flag',
      'large',
      'list',
      'missing',
      'number',
      'optional',
    ])
    assert.deepEqual(answer.body.errors.missing, ['is required, but the payload has no value at a.b'])
    assert.deepEqual(answer.body.errors.large, ['at large: is longer than 64 KiB'])
    const [record] = await requestsOf(hook)
    assert.equal(record!.outcome, 'rejected_variables')
    assert.deepEqual(JSON.parse(String(record!.response_body)).errors, answer.body.errors)
    assert.deepEqual(await actionsOf(hook), [])
  })
})

suite('unusual payloads', () => {
  test('no payload causes a 5xx, and a rejected one never starts an action', async () => {
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
      '{"list":[1,{"a":[-1e400]}]}',
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

  test('no payload or path reaches a prototype', async () => {
    const prototypes = [Object.prototype, Array.prototype, Function.prototype, String.prototype]
    const own = () => prototypes.map((one) => Object.entries(Object.getOwnPropertyDescriptors(one)))
    const before = own()
    const paths = [
      '__proto__',
      '__proto__.toString',
      'constructor',
      'constructor.prototype',
      'list.length',
      'list.constructor',
      'text.length',
      'toString',
    ]
    const variables = withVariables(...paths.map((path, n) => ({ name: `v${n}`, path, required: false })))
    const hook = await makeHook(variables)
    const evil = '{"polluted":"yes"}'
    const payloads = [
      '{"list":[1],"text":"x"}',
      `{"__proto__":${evil},"constructor":{"prototype":${evil}},"a":{"__proto__":{"__proto__":${evil}}}}`,
      `[{"__proto__":${evil}},{"constructor":{"prototype":{"__proto__":${evil}}}}]`,
      '{"__proto__":null,"constructor":null,"toString":null,"valueOf":1,"then":1,"toJSON":1,"length":-1}',
    ]
    for (const payload of payloads) {
      const { status, text } = await call(hook, payload)
      assert.ok(status === 202 || status === 422, text)
    }
    const [first] = await actionsOf(hook)
    assert.deepEqual(first!.hook_parsed_variables, {}, 'what is inherited is absent')
    assert.deepEqual(own(), before)
    assert.equal(({} as Record<string, unknown>).polluted, undefined)
    for (const path of paths) {
      const conditions = [{ path, accepted_values: [null, 1, 'x', {}, 'yes'] }]
      const picky = await makeHook({ trigger_when: { conditions } })
      assert.equal((await call(picky, payloads[0])).body.action_id, null, path)
    }
  })

  test('a variable may have any name', async () => {
    const names = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', '_', 'a-b']
    const hook = await makeHook(withVariables(...names.map((name) => ({ name }))))
    const sent = `{${names.map((name) => `"${name}":"${name}!"`).join()}}`
    const id = assertStarted(await call(hook, sent))
    const { text } = await api.request('GET', `/actions/${id}`, { token: tree.owner.token })
    const shown = JSON.parse(text).triggered_from.hook_parsed_variables
    assert.deepEqual(new Map(Object.entries(shown)), new Map(names.map((name) => [name, `${name}!`])))
    assertRejected(await call(hook, {}), 422, 'invalid')
  })

  test('large numbers reach the run exactly as sent', async () => {
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

  test('forms are accepted when their text or their field payload is JSON', async () => {
    const hook = await makeHook({ ...SIGNED, ...withVariables({ name: 'ref' }) })
    const form = { headers: { 'content-type': 'application/x-www-form-urlencoded' } }
    const payload = JSON.stringify({ ref: 'größer + 1' })
    assertStarted(await call(hook, payload, form))
    assertStarted(await call(hook, new URLSearchParams({ a: 'b', payload }).toString(), form))
    assertRejected(await call(hook, 'ref=main', form), 400, 'malformed')
    assertRejected(await call(hook, 'payload=%7B', form), 400, 'malformed')
    assertRejected(await call({ ...hook, secret: 'wrong' }, payload, form), 403, 'forbidden')
    const refs = (await actionsOf(hook)).map(({ hook_parsed_variables }) => hook_parsed_variables.ref)
    assert.deepEqual(refs, ['größer + 1', 'größer + 1'])
  })

  test('a form with 150,000 levels is 400 and does not crash a hook that reads arrays and numbers', async () => {
    const hook = await makeHook(
      withVariables({ name: 'list', type: 'array', required: false }, { name: 'n', required: false }),
    )
    const payload = `{"n":1,"list":${'['.repeat(150_000)}${']'.repeat(150_000)}}`
    const escaped = payload.replaceAll('[', '%5B').replaceAll(']', '%5D')
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    for (const body of [`payload=${payload}`, `payload=${escaped}`])
      assertRejected(await call(hook, body, { headers }), 400, 'malformed')
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('with a raised limit, strings of 5 MB are accepted and stored in full, but are not variables', async (t) => {
    const big = await openTestApp(t, {
      beside: api,
      environment: { GANTRY_MAX_PAYLOAD: String(8 * 1024 * 1024) },
    })
    const hook = await makeHook(withVariables({ name: 'text', required: false }))
    const long = 'ä'.repeat(2_600_000)
    assertStarted(await call(hook, { unread: long }, { by: big }))
    assertRejected(await call(hook, { text: long }, { by: big }), 422, 'invalid')
    assertRejected(await call(hook, { text: long.repeat(2) }, { by: big }), 413, 'too_large')
    const deep = `${'{"a":'.repeat(200_000)}1${'}'.repeat(200_000)}`
    assertRejected(await call(hook, deep, { by: big }), 400, 'malformed')
    const records = await requestsOf(hook)
    assert.deepEqual(
      records.map(({ request_body }) => request_body!.equals(bytesOf({ unread: long }))),
      [true, false, false],
    )
  })
})

suite('over a real connection', () => {
  async function listen(t: TestContext) {
    const own = await openTestApp(t, { beside: api })
    await own.app.listen({ host: '127.0.0.1', port: 0 })
    return (own.app.server.address() as AddressInfo).port
  }
  /** Sends these bytes and nothing more; returns what the server sends until it closes the connection. */
  async function speak(port: number, ...texts: string[]): Promise<string> {
    const socket = connect(port, '127.0.0.1')
    const heard: Buffer[] = []
    // A sender that is cut off may get a connection reset after the response.
    socket.on('error', () => {})
    socket.on('data', (chunk) => heard.push(Buffer.from(chunk)))
    for (const text of texts) socket.write(text)
    await once(socket, 'close')
    return Buffer.concat(heard).toString()
  }
  const head = (hook: Hook, ...more: string[]) =>
    [`POST ${pathOf(hook)} HTTP/1.1`, 'Host: x', 'Connection: close', ...more, '', ''].join('\r\n')
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`

  test('a chunked body is verified as a whole', async (t) => {
    const port = await listen(t)
    const hook = await makeHook({ ...SIGNED, ...withVariables({ name: 'a' }) })
    const signature = `X-Hub-Signature-256: ${sign(hook.secret!, '{"a":"größer"}')}`
    const pieces = ['{"a":"grö', 'ßer"}', ''].map(chunk)
    const answer = await speak(port, head(hook, 'Transfer-Encoding: chunked', signature), ...pieces)
    assert.match(answer, /^HTTP\/1\.1 202 /)
    assert.deepEqual((await actionsOf(hook))[0]!.hook_parsed_variables, { a: 'größer' })
  })

  test('a body that is, or is declared, too large is 413 and stores nothing', async (t) => {
    const port = await listen(t)
    const hook = await makeHook()
    const pieces = Array.from({ length: 17 }, () => chunk(' '.repeat(0x10000)))
    const grown = await speak(port, head(hook, 'Transfer-Encoding: chunked'), ...pieces)
    assert.match(grown, /^HTTP\/1\.1 413 /)
    assert.match(await speak(port, head(hook, 'Content-Length: 1048577')), /^HTTP\/1\.1 413 /)
    assert.deepEqual(await requestsOf(hook), [])
  })

  test('a sender that disconnects in the middle starts nothing', async (t) => {
    const port = await listen(t)
    const hook = await makeHook()
    const socket = connect(port, '127.0.0.1')
    socket.write(`${head(hook, 'Content-Length: 4')}{}`)
    socket.end()
    socket.resume()
    await once(socket, 'close')
    assert.match(await speak(port, `${head(hook, 'Content-Length: 2')}{}`), /^HTTP\/1\.1 202 /)
    assert.equal((await requestsOf(hook)).length, 1)
    assert.equal((await actionsOf(hook)).length, 1)
  })
})
