// Calls with an encoded body: what is signed, what is evaluated, and what is stored.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { assertRejected, assertStarted, openCalls, SIGNED, sign, withVariables } from '#test/support/calls.ts'

const { api, tree, makeHook, call, actionsOf, requestsOf } = await openCalls({ after })
const token = tree.owner.token
const GZIP = { 'content-encoding': 'gzip' }
const PAYLOAD = JSON.stringify({ ref: 'refs/heads/größer', padding: 'x'.repeat(5_000) })
const VARIABLES = withVariables({ name: 'branch', path: 'ref' })

const read = async (id: string) => (await api.request('GET', `/hook-requests/${id}`, { token })).body

suite('a call with a gzip body', () => {
  test('is signed over the bytes as sent, and evaluated inflated', async () => {
    const hook = await makeHook({ ...SIGNED, ...VARIABLES })
    const sent = gzipSync(PAYLOAD)
    assertStarted(await call(hook, sent, { headers: GZIP }))
    const overInflated = { ...GZIP, 'x-hub-signature-256': sign(hook.secret!, PAYLOAD) }
    assertRejected(await call(hook, sent, { headers: overInflated }), 403, 'forbidden')
    const [action, ...others] = await actionsOf(hook)
    assert.deepEqual([action!.hook_parsed_variables, others], [{ branch: 'refs/heads/größer' }, []])
  })

  test('is shown as readable text, with the size as received', async () => {
    const hook = await makeHook(VARIABLES)
    const sent = gzipSync(PAYLOAD)
    const { body } = await call(hook, sent, { headers: GZIP })
    const shown = await read(body.hook_request_id)
    assert.deepEqual([shown.request_body, shown.request_body_encoding], [PAYLOAD, 'utf-8'])
    assert.equal(shown.body_bytes, sent.length)
    assert.equal(shown.request_headers['content-encoding'], 'gzip')
  })

  test('is replayed with the same payload', async () => {
    const hook = await makeHook(VARIABLES)
    const { body } = await call(hook, gzipSync(PAYLOAD), { headers: GZIP })
    assertStarted(await api.request('POST', `/hook-requests/${body.hook_request_id}/replay`, { token }))
    const [first, second] = await actionsOf(hook)
    assert.deepEqual(second!.hook_parsed_variables, first!.hook_parsed_variables)
    const [, replayed] = await requestsOf(hook)
    assert.equal(replayed!.request_body!.toString(), PAYLOAD)
  })

  test('is a duplicate of the same payload, however that was compressed', async () => {
    const hook = await makeHook(VARIABLES)
    const headers = { ...GZIP, 'idempotency-key': '1' }
    const id = assertStarted(await call(hook, gzipSync(PAYLOAD, { level: 9 }), { headers }))
    const plain = { 'idempotency-key': '1' }
    for (const again of [
      await call(hook, gzipSync(PAYLOAD, { level: 1 }), { headers }),
      await call(hook, PAYLOAD, { headers: plain }),
    ])
      assert.deepEqual([again.status, again.body.action_id], [200, id])
  })

  test('is 400 when it is broken; the record says so, and cannot be replayed', async () => {
    const hook = await makeHook()
    for (const sent of [gzipSync(PAYLOAD).subarray(0, -9), Buffer.from('{}')]) {
      const answer = await call(hook, sent, { headers: GZIP })
      assertRejected(answer, 400, 'malformed')
      assert.equal(answer.body.message, 'The body is not valid gzip.')
      const { id } = (await requestsOf(hook)).at(-1)!
      const shown = await read(id)
      assert.deepEqual(
        [shown.outcome, shown.response_status_code, shown.request_body, shown.body_bytes],
        ['rejected_payload', 400, null, sent.length],
      )
      const replayed = await api.request('POST', `/hook-requests/${id}/replay`, { token })
      assertRejected(replayed, 409, 'conflict')
      assert.equal(replayed.body.message, 'The body of this call could not be inflated.')
    }
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('is 413 when it inflates beyond the limit, however small it is', async () => {
    const hook = await makeHook()
    const limit = 2 ** 20
    const payload = (bytes: number) => JSON.stringify({ a: 'x'.repeat(bytes - '{"a":""}'.length) })
    assertStarted(await call(hook, gzipSync(payload(limit)), { headers: GZIP }))
    assertRejected(await call(hook, gzipSync(payload(limit + 1)), { headers: GZIP }), 413, 'too_large')
    const bomb = gzipSync(Buffer.alloc(2 ** 27))
    assertRejected(await call(hook, bomb, { headers: GZIP }), 413, 'too_large')
    const incompressible = Buffer.alloc(limit + 1)
    assertRejected(await call(hook, incompressible, { headers: GZIP }), 413, 'too_large')
    assert.deepEqual(
      (await requestsOf(hook)).map((one) => [one.outcome, one.response_status_code]),
      [
        ['accepted', 202],
        ['rejected_payload', 413],
        ['rejected_payload', 413],
      ],
    )
  })

  test('is not inflated when its signature is wrong', async () => {
    const hook = await makeHook(SIGNED)
    const headers = { ...GZIP, 'x-hub-signature-256': 'x' }
    assertRejected(await call(hook, gzipSync(Buffer.alloc(2 ** 27)), { headers }), 403, 'forbidden')
    assertRejected(await call(hook, 'no gzip', { headers }), 403, 'forbidden')
  })
})

suite('other encodings', () => {
  test('are 415, for a call, its replay and a dry run', async () => {
    const hook = await makeHook()
    const dryRun = (encoding: string) =>
      api.request('POST', `/hooks/incoming/${hook.id}/dry-run`, {
        token,
        body: { headers: { 'Content-Encoding': encoding }, body: {} },
      })
    for (const encoding of ['br', 'deflate', 'gzip, gzip', 'x']) {
      const headers = { 'content-encoding': encoding }
      assertRejected(await call(hook, brotliCompressSync('{}'), { headers }), 415, 'unsupported_media_type')
      assertRejected(await call(hook, '{}', { headers }), 415, 'unsupported_media_type')
      const { id } = (await requestsOf(hook)).at(-1)!
      const replayed = await api.request('POST', `/hook-requests/${id}/replay`, { token })
      assertRejected(replayed, 415, 'unsupported_media_type')
      assert.equal((await dryRun(encoding)).body.verdict, 'rejected_payload')
    }
    assert.equal((await dryRun('gzip')).body.verdict, 'accepted')
    assert.deepEqual(await actionsOf(hook), [])
  })

  test('identity is none', async () => {
    const hook = await makeHook(SIGNED)
    for (const encoding of ['identity', 'Identity', ''])
      assertStarted(await call(hook, '{}', { headers: { 'content-encoding': encoding } }))
  })
})
