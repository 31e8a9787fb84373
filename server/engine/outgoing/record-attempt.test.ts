import assert from 'node:assert/strict'
import { test } from 'node:test'
import { MAX_BODY_BYTES } from '#adapters/http-client/exchange.ts'
import { createMask } from '#platform/masking/mask.ts'
import { recordAnswer } from './record-attempt.ts'

const TOKEN = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz'
const request = {
  url: `https://receiver.example/${TOKEN}`,
  method: 'POST',
  headers: { authorization: 'Bearer something else', 'x-copy': TOKEN },
  body: Buffer.from(JSON.stringify({ token: TOKEN })),
}

function recordOf(body: string) {
  const outcome = {
    kind: 'answered' as const,
    status: 200,
    headers: { 'set-cookie': ['session=1'], 'x-echo': [TOKEN] },
    body: Buffer.from(body).subarray(0, MAX_BODY_BYTES),
    retryAfter: null,
    ipAddress: '192.0.2.1',
    durationMs: 3.4,
  }
  const hook = { mask: createMask([TOKEN]), capture: [], answerOrigins: null }
  const result = { kind: 'answered' as const, status: 200, retryAfter: null, now: new Date() }
  return recordAnswer(hook, {}, request, outcome, { result, error: null })
}

test('no secret remains in a URL, a header or a body, sent or echoed', () => {
  const record = recordOf(`you said ${TOKEN}`)
  assert.equal(record.url, 'https://receiver.example/********')
  assert.deepEqual(record.request_headers, { authorization: '********', 'x-copy': '********' })
  assert.equal(record.request_body?.toString(), '{"token":"********"}')
  assert.deepEqual(record.response_headers, { 'set-cookie': '********', 'x-echo': ['********'] })
  assert.equal(record.response_body?.toString(), 'you said ********')
})

test('a secret that is cut off at the end of a long response does not remain either', () => {
  for (let cut = 1; cut < TOKEN.length; cut += 1) {
    const { response_body } = recordOf('x'.repeat(MAX_BODY_BYTES - cut) + TOKEN)
    assert.equal(response_body?.includes(TOKEN.slice(0, 8)), false)
    // Masking shortens a text, so that what was beyond the limit comes within it.
    const many = recordOf(`${TOKEN} `.repeat(300).padEnd(MAX_BODY_BYTES - cut, 'y') + TOKEN)
    assert.equal(many.response_body?.includes(TOKEN.slice(0, 8)), false)
  }
})
