import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { signDelivery, signingKey } from './sign.ts'

const secret = () => `whsec_${randomBytes(32).toString('base64')}`
const now = () => Date.now() / 1000
const BODY = '{"event":"action.completed","name":"Zoë"}'

test('a receiver verifies the signature with the standardwebhooks library', () => {
  const own = secret()
  const headers = signDelivery({ id: 'msg_1', timestampSeconds: now(), body: BODY, keys: [signingKey(own)] })
  assert.deepEqual(new Webhook(own).verify(BODY, headers), JSON.parse(BODY))
  const bytes = signDelivery({
    id: 'msg_1',
    timestampSeconds: now(),
    body: Buffer.from(BODY),
    keys: [signingKey(own)],
  })
  assert.ok(new Webhook(own).verify(BODY, bytes))
})

test('during a rotation either secret verifies, and a third one does not', () => {
  const secrets = [secret(), secret()]
  const headers = signDelivery({
    id: 'msg_1',
    timestampSeconds: now(),
    body: BODY,
    keys: secrets.map(signingKey),
  })
  assert.equal(headers['webhook-signature'].split(' ').length, 2)
  for (const one of secrets) assert.ok(new Webhook(one).verify(BODY, headers))
  assert.throws(() => new Webhook(secret()).verify(BODY, headers))
})

test('another body, id or time is not what was signed', () => {
  const own = secret()
  const headers = signDelivery({ id: 'msg_1', timestampSeconds: now(), body: BODY, keys: [signingKey(own)] })
  const verify = (body: string, changed: object) => new Webhook(own).verify(body, { ...headers, ...changed })
  const earlier = String(Number(headers['webhook-timestamp']) - 1)
  assert.throws(() => verify(`${BODY} `, {}))
  assert.throws(() => verify(BODY, { 'webhook-id': 'msg_2' }))
  assert.throws(() => verify(BODY, { 'webhook-timestamp': earlier }))
})

test('an invalid secret is an error that does not contain it', () => {
  for (const bad of ['', 'whsec_', 'whsec_***', 'plain text'])
    assert.throws(
      () => signingKey(bad),
      (error: Error) => bad === '' || !error.message.includes(bad) || bad === 'whsec_',
    )
})
