// Who may call a hook and how often, and what is stored about rejected calls.
import assert from 'node:assert/strict'
import { createHmac, randomUUID } from 'node:crypto'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import {
  assertRejected,
  assertStarted,
  openCalls,
  pathOf,
  SIGNED,
  sign,
  tokenOf,
  withVariables,
} from '#test/support/calls.ts'
import { openTestApp } from '#test/support/harness.ts'

const { api, db, tree, makeHook, call, actionsOf, requestsOf } = await openCalls({ after })

suite('who may call', () => {
  test('a missing or wrong signature is 403 with one message, and starts nothing', async () => {
    const hook = await makeHook(SIGNED)
    const body = '{ "a": 1 }'
    const right = sign(hook.secret!, body)
    const digest = right.split('=')[1]!
    const bytes = Buffer.from(digest, 'hex')
    const other = (algorithm: string) => createHmac(algorithm, hook.secret!).update(body).digest('hex')
    const wrong = [
      undefined,
      '',
      'sha256=',
      digest.slice(1),
      digest.slice(0, 32),
      `${right}00`,
      `sha512=${digest}`,
      `sha1=${digest}`,
      `sha1=${other('sha1')}`,
      `sha256=${other('sha512')}`,
      `sha256=0x${digest}`,
      `sha256=${Buffer.from(digest).toString('base64')}`,
      `sha256=${bytes.toString('base64')}=`,
      `sha256=${bytes.toString('latin1')}`,
      hook.secret!,
      `Bearer ${hook.secret}`,
      sign('0'.repeat(64), body),
      sign(hook.secret!, '{"a":1}'),
      sign(hook.secret!, '{ "a": 2 }'),
    ]
    const texts = new Set<string>()
    for (const [n, signature] of wrong.entries()) {
      const answer = await call(hook, body, { headers: { 'x-hub-signature-256': signature } })
      assertRejected(answer, 403, 'forbidden')
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
    const encodings = ['hex', 'base64', 'base64url'] as const
    for (const signature of [right, ...encodings.map((encoding) => bytes.toString(encoding))])
      assertStarted(await call(hook, body, { headers: { 'x-hub-signature-256': signature } }))
  })

  test('a header named like an inherited property counts as missing', async () => {
    for (const secret_header_name of ['constructor', '__proto__', 'hasOwnProperty']) {
      const hook = await makeHook({ ...SIGNED, secret_header_name })
      assertRejected(await call(hook, '{}'), 403, 'forbidden')
      assert.equal((await requestsOf(hook))[0]?.outcome, 'rejected_signature')
    }
    const timestamp_header = 'constructor'
    const signature = {
      scheme: 'timestamp',
      template: '{id}.{timestamp}.{body}',
      timestamp_header,
      id_header: '__proto__',
    }
    const timed = await makeHook({ ...SIGNED, settings: { signature } })
    assertRejected(await call(timed, '{}'), 403, 'forbidden')
    const constructed = await makeHook({ ...SIGNED, secret_header_name: 'constructor' })
    assertStarted(
      await call(constructed, '{}', { headers: { constructor: sign(constructed.secret!, '{}') } }),
    )
  })

  test('an expired timestamp is the same 403', async () => {
    const signature = { scheme: 'timestamp', template: '{timestamp}.{body}' }
    const hook = await makeHook({ ...SIGNED, settings: { signature } })
    const at = (seconds: number) => {
      const time = Math.floor(Date.now() / 1000) + seconds
      const value = createHmac('sha256', hook.secret!).update(`${time}.{}`).digest('hex')
      return call(hook, '{}', { headers: { 'x-hub-signature-256': `t=${time},v1=${value}` } })
    }
    for (const seconds of [-310, 310]) {
      const answer = await at(seconds)
      assertRejected(answer, 403, 'forbidden')
      assert.equal(answer.body.message, 'The signature is missing or wrong.')
    }
    assertStarted(await at(-290))
  })

  test('unknown, inactive, removed and, by id, unsigned hooks are 404 with the same message', async () => {
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
      assertRejected(answer, 404, 'not_found')
      texts.add(JSON.stringify({ ...answer.body, request_id: '' }))
    }
    assert.equal(texts.size, 1)
    for (const hook of [inactive, open, removed]) {
      assert.deepEqual(await requestsOf(hook), [])
      assert.deepEqual(await actionsOf(hook), [])
    }
    assertStarted(await call(open))
  })

  test('other methods on the URL of a hook are 405', async () => {
    const hook = await makeHook()
    for (const method of ['GET', 'PUT', 'DELETE'])
      assertRejected(await api.request(method, pathOf(hook)), 405, 'method_not_allowed')
  })

  test('secrets in headers and the URL of the hook are masked in the record', async () => {
    const secret = 'the-token-of-a-sender'
    const signature = { scheme: 'token' }
    const input = { ...SIGNED, secret, secret_header_name: 'X-Custom-Token', settings: { signature } }
    const hook = await makeHook(input)
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
    for (const word of [secret, 'hush', tokenOf(hook)]) assert.ok(!stored.includes(word), word)
  })

  test('no log line contains a secret, a payload or the URL of a hook', async (t) => {
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
    // One for the call that was accepted, one for the first that was not; the others follow in another one.
    assert.equal(lines.length, 2)
    for (const word of ['payload-word', hook.secret!, tokenOf(hook)])
      assert.ok(!lines.join('').includes(word), word)
  })
})

suite('rate limits', () => {
  test('beyond its burst a hook returns 429 with Retry-After and records the call without its body', async () => {
    const hook = await makeHook({ settings: { rate_limit: { per_second: 1, burst: 3 } } })
    const answers = await Promise.all(Array.from({ length: 5 }, () => call(hook)))
    const refused = answers.filter(({ status }) => status === 429)
    assert.equal(answers.filter(({ status }) => status === 202).length, 3)
    assert.equal(refused.length, 2)
    for (const answer of refused) {
      assertRejected(answer, 429, 'too_many_requests')
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

  test('an address with too many wrong signatures is limited; correctly signed calls from it are not', async () => {
    const hook = await makeHook(SIGNED)
    const wrong = { ...hook, secret: 'wrong' }
    const address = '198.51.100.1'
    const statuses = await untilTooMany(async () => (await call(wrong, {}, { address })).status)
    assert.deepEqual(new Set(statuses), new Set([403, 429]))
    assert.ok(statuses.filter((status) => status === 403).length >= 100)
    const last = await call(wrong, {}, { address })
    assert.ok([403, 429].includes(last.status))
    if (last.status === 429) assert.match(last.headers['retry-after']!, /^\d+$/)
    assert.equal((await call(wrong, {}, { address: '198.51.100.2' })).status, 403)
    assertStarted(await call(hook, {}, { address }))
  })

  test('a caller that guesses hook URLs is limited as well', async () => {
    const guess = (n: number) =>
      api.request('POST', `/hooks/guess-${n}/trigger`, { rawBody: '{}', address: '198.51.100.3' })
    const statuses = await untilTooMany(async (n) => (await guess(n)).status)
    assert.deepEqual(new Set(statuses), new Set([404, 429]))
  })

  test('rejected calls are recorded at most 20 times an hour, without body, and then counted', async (t) => {
    const other = await openTestApp(t, { beside: api })
    const hook = await makeHook({ ...SIGNED, settings: { rate_limit: { per_second: 1, burst: 1 } } })
    const wrong = { ...hook, secret: 'wrong' }
    assertStarted(await call(hook))
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        call(n % 3 ? wrong : hook, {}, { by: n % 2 ? other : api, address: '198.51.100.4' }),
      ),
    )
    await api.calls.rejections.flush()
    await other.calls.rejections.flush()
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

/** Sends concurrent requests until one is limited: on a busy machine the first few hundred are too slow for that. */
async function untilTooMany(ask: (number: number) => Promise<number>): Promise<number[]> {
  const statuses: number[] = []
  for (let round = 0; round < 10 && !statuses.includes(429); round += 1) {
    const asked = statuses.length
    statuses.push(...(await Promise.all(Array.from({ length: 300 }, (_, number) => ask(asked + number)))))
  }
  return statuses
}
