import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { type VerificationProblem, verifyDelivery } from '#client/index.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'

const world = await openDeliveries({ after })
const receiver = await openReceiver({ after })

const newSecret = () => `whsec_${randomBytes(32).toString('base64')}`
const NOW = new Date('2026-11-16T12:00:00Z')
const BODY = '{"event":"action.completed","name":"Zoë 🙂"}'

/** As the reference implementation signs. */
function signed(secret: string, { body = BODY, at = NOW, id = 'msg_1' } = {}) {
  const timestamp = String(Math.floor(at.getTime() / 1_000))
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': new Webhook(secret).sign(id, at, body),
  }
}

test('what Gantry delivers verifies, also while its secret is rotated, and not with another secret', async () => {
  const hook = await world.makeHook({ target_url: receiver.url })
  const action = await world.startAction()
  await world.move(action, IN_PROGRESS)
  const [first] = await receiver.until(1)
  const { id, sentAt, payload } = await verifyDelivery({ ...first!, secret: hook.secret })
  assert.equal(id, first!.headers['webhook-id'])
  assert.ok(Math.abs(sentAt.getTime() - Date.now()) < 60_000)
  assert.deepEqual(payload, first!.json)

  const { body } = await world.request('POST', `/hooks/outgoing/${hook.id}/rotate-secret`, {
    token: world.tree.owner.token,
    body: { overlap_seconds: 600 },
  })
  await world.move(action, COMPLETED)
  const second = (await receiver.until(2))[1]!
  for (const secret of [hook.secret, body.secret, [newSecret(), body.secret]])
    assert.deepEqual((await verifyDelivery({ ...second, secret })).payload, second.json)
  await assert.rejects(verifyDelivery({ ...second, secret: newSecret() }), { problem: 'mismatch' })
})

test('headers and bodies are taken in every form that servers have them in', async () => {
  const secret = newSecret()
  const headers = signed(secret)
  const bytes = new TextEncoder().encode(BODY)
  const forms = [
    { headers: new Headers(headers), body: BODY },
    { headers: { 'Webhook-Id': 'msg_1', ...headers }, body: bytes },
    {
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
      body: bytes.buffer,
    },
    { headers, body: Buffer.from(BODY) },
  ]
  for (const form of forms)
    assert.deepEqual((await verifyDelivery({ ...form, secret, now: NOW })).payload, JSON.parse(BODY))
  const empty = { headers: signed(secret, { body: '' }), body: '' }
  assert.equal((await verifyDelivery({ ...empty, secret, now: NOW })).payload, null)
})

suite('a delivery is rejected, with the problem', () => {
  const secret = newSecret()
  const headers = signed(secret)
  const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1_000)
  const cases: Record<string, [VerificationProblem, Partial<Parameters<typeof verifyDelivery>[0]>]> = {
    'whose signature is missing': [
      'header_missing',
      { headers: { ...headers, 'webhook-signature': undefined } },
    ],
    'whose id is missing': ['header_missing', { headers: { ...headers, 'webhook-id': '' } }],
    'of another id': ['mismatch', { headers: { ...headers, 'webhook-id': 'msg_2' } }],
    'with another body': ['mismatch', { body: `${BODY} ` }],
    'signed by another version': [
      'mismatch',
      { headers: { ...headers, 'webhook-signature': headers['webhook-signature'].replace('v1,', 'v1a,') } },
    ],
    'whose signature is not base64': [
      'mismatch',
      { headers: { ...headers, 'webhook-signature': 'v1,*** v1,' } },
    ],
    'that is older than five minutes': ['timestamp', { now: later(301) }],
    'from the future': ['timestamp', { now: later(-301) }],
    'whose time is not one': ['timestamp', { headers: { ...headers, 'webhook-timestamp': '1e9' } }],
    'checked with a secret of another kind': ['secret', { secret: 'plain text' }],
    'checked with an empty secret': ['secret', { secret: 'whsec_' }],
    'that is signed, but not JSON': ['body', { headers: signed(secret, { body: 'x' }), body: 'x' }],
  }
  for (const [what, [problem, change]] of Object.entries(cases))
    test(what, () =>
      assert.rejects(verifyDelivery({ headers, body: BODY, secret, now: NOW, ...change }), {
        name: 'VerificationError',
        problem,
      }),
    )

  test('but a tolerance may be chosen', async () => {
    await verifyDelivery({ headers, body: BODY, secret, now: later(301), toleranceSeconds: 600 })
    await verifyDelivery({ headers, body: BODY, secret, now: later(299) })
  })
})
