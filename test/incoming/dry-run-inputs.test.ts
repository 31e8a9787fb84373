// Dry runs with a recorded call, with unsaved settings, and with a signature.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Webhooks } from '@octokit/webhooks'
import { Webhook } from 'standardwebhooks'
import { expandEntry } from '#client/index.ts'
import { SENDERS } from '#manage/catalog/senders.ts'
import {
  assertRejected,
  assertStarted,
  type Hook,
  openCalls,
  SIGNED,
  withVariables,
} from '#test/support/calls.ts'
import { exampleValues } from '#test/support/catalog.ts'
import { createHook, createHookRequest } from '#test/support/world.ts'

const calls = await openCalls({ after })
const { api, db, tree, makeHook, call, requestsOf } = calls
const { token } = tree.owner

const ask = ({ id }: Pick<Hook, 'id'>, body: unknown) =>
  api.request('POST', `/hooks/incoming/${id}/dry-run`, { token, body })
async function dryRun(hook: Pick<Hook, 'id'>, input: unknown) {
  const { status, body, text } = await ask(hook, input)
  assert.equal(status, 200, text)
  return body
}
const on = (branch: string) => ({ conditions: [{ path: 'ref', accepted_values: [branch] }] })

suite('a recorded call', () => {
  test('is evaluated again, with the hook as it is stored or with unsaved changes', async () => {
    const hook = await makeHook({ ...SIGNED, trigger_when: on('main') })
    await call(hook, { ref: 'dev' }, { headers: { 'x-github-event': 'push' } })
    const [{ id: hook_request_id } = { id: '' }] = await requestsOf(hook)
    assert.equal((await dryRun(hook, { hook_request_id })).verdict, 'ignored')
    const changed = await dryRun(hook, {
      hook_request_id,
      trigger_when: on('dev'),
      ...withVariables({ name: 'branch', path: 'ref' }),
    })
    assert.deepEqual([changed.verdict, changed.variables], ['accepted', { branch: 'dev' }])
    assert.equal((await requestsOf(hook)).length, 1)
  })

  test('of another hook does not exist, nor does a delivery', async () => {
    const [hook, other] = [await makeHook(), await makeHook()]
    await call(other)
    const [theirs] = await requestsOf(other)
    const outgoing = await createHook(db, tree, 'outgoing')
    const delivery = await createHookRequest(db, outgoing, 'outgoing')
    for (const hook_request_id of [theirs!.id, delivery, crypto.randomUUID()]) {
      const answer = await ask(hook, { hook_request_id })
      assertRejected(answer, 404, 'not_found')
      assert.deepEqual(Object.keys(answer.body.errors), ['hook_request_id'])
    }
  })

  test('without its body is a conflict', async () => {
    const hook = await makeHook(SIGNED)
    await call(hook, {}, { headers: { 'x-hub-signature-256': 'sha256=00' } })
    await call(hook, {})
    const [rejected, accepted] = await requestsOf(hook)
    assertRejected(await ask(hook, { hook_request_id: rejected!.id }), 409, 'conflict')
    await db
      .updateTable('hook_requests')
      .set({ request_body: null, request_headers: null })
      .where('id', '=', accepted!.id)
      .execute()
    assertRejected(await ask(hook, { hook_request_id: accepted!.id }), 409, 'conflict')
  })

  test('cannot be combined with a given one', async () => {
    const hook = await makeHook()
    const input = { hook_request_id: crypto.randomUUID(), body: null, headers: {}, sign: false }
    const answer = await ask(hook, input)
    assertRejected(answer, 422, 'invalid')
    assert.deepEqual(Object.keys(answer.body.errors), ['headers', 'body', 'sign'])
  })
})

suite('unsaved settings', () => {
  test('replace the stored ones as a whole, and are not saved', async () => {
    const hook = await makeHook({ ...withVariables({ name: 'old' }), trigger_when: on('main') })
    const read = async () => (await api.request('GET', `/hooks/incoming/${hook.id}`, { token })).body
    const before = await read()
    const input = { body: { new: 1 }, ...withVariables({ name: 'new', type: 'integer' }), trigger_when: {} }
    assert.deepEqual((await dryRun(hook, input)).variables, { new: 1 })
    assert.deepEqual(await read(), before)
  })

  test('are validated like saved ones: the same errors at the same fields', async () => {
    const hook = await makeHook()
    const wrong = [
      { settings: { variables: [{ name: '1st', type: 'float' }] }, trigger_when: { events: [] } },
      {
        settings: {
          variables: [
            { name: 'a', path: 'a[', type: 'integer', required: true, default_value: 'x' },
            { name: 'A', type: 'string', required: true },
          ],
          signature: { scheme: 'timestamp', template: '{body}' },
        },
        trigger_when: { conditions: [{ path: '..', accepted_values: [1] }] },
      },
      { settings: { signature: { scheme: 'token', template: 'x' } } },
      { settings: null },
    ]
    for (const input of wrong) {
      const saved = await api.request('PUT', `/hooks/incoming/${hook.id}`, { token, body: input })
      const tried = await ask(hook, { body: {}, ...input })
      assertRejected(tried, 422, 'invalid')
      assert.deepEqual(tried.body.errors, saved.body.errors)
    }
  })
})

suite('a signed call', () => {
  const signedSenders = SENDERS.filter(({ secret_source }) => secret_source !== null)

  for (const { code, hook: template, fields } of signedSenders)
    test(`is accepted from a hook for ${code}, and its secret stays hidden`, async () => {
      const input = expandEntry(template, exampleValues(fields))
      const settings = { ...input.settings, variables: [] }
      const hook = (await makeHook({ ...input, settings, trigger_when: {} })) as Hook & { secret: string }
      const body = { text: 'Ünïcode', id: 1 }
      const answer = await ask(hook, { body, sign: true, headers: { 'X-Sender': 'me' } })
      assert.equal(answer.status, 200, answer.text)
      assert.ok(!answer.text.includes(hook.secret))
      const { signed_call } = answer.body
      assert.deepEqual(JSON.parse(signed_call.body), body)
      const { masked_header, headers } = signed_call
      assert.equal(masked_header, settings.signature?.scheme === 'token' ? 'x-gitlab-token' : null)
      if (masked_header) headers[masked_header] = hook.secret
      const path = new URL(hook.url).pathname
      const sent = await api.request('POST', path, { headers, rawBody: signed_call.body })
      assertStarted(sent)
      const forged = await api.request('POST', path, {
        headers: masked_header ? { ...headers, [masked_header]: 'wrong' } : headers,
        rawBody: masked_header ? signed_call.body : `${signed_call.body} `,
      })
      assertRejected(forged, 403, 'forbidden')
      const [first] = await requestsOf(hook)
      assert.equal(first!.request_headers!['x-sender'], 'me')
    })

  test('is genuine to the libraries of GitHub and of Standard Webhooks', async () => {
    const payload = { ref: 'refs/heads/main' }
    const github = await makeHook(SIGNED)
    const { signed_call } = await dryRun(github, { body: payload, sign: true })
    const webhooks = new Webhooks({ secret: github.secret! })
    assert.ok(await webhooks.verify(signed_call.body, signed_call.headers['x-hub-signature-256']))

    const { hook, fields } = SENDERS.find(({ code }) => code === 'standard_webhooks')!
    const standard = await makeHook(expandEntry(hook, exampleValues(fields)))
    const given = await dryRun(standard, { body: payload, sign: true, headers: { 'Webhook-Id': 'msg_mine' } })
    assert.equal(given.signed_call.headers['webhook-id'], 'msg_mine')
    const verified = new Webhook(standard.secret!).verify(given.signed_call.body, given.signed_call.headers)
    assert.deepEqual(verified, payload)
  })

  test('follows unsaved settings, and has no signature where none is required', async () => {
    const hook = await makeHook(SIGNED)
    const signature = { scheme: 'timestamp', template: '{timestamp}.{body}' }
    const { signed_call } = await dryRun(hook, { body: {}, sign: true, settings: { signature } })
    assert.match(signed_call.headers['x-hub-signature-256'], /^t=\d+,v1=[0-9a-f]{64}$/)
    const open = await makeHook()
    const unsigned = await dryRun(open, { body: {}, sign: true })
    assert.deepEqual(unsigned.signed_call, {
      headers: { 'content-type': 'application/json' },
      body: '{}',
      masked_header: null,
    })
    assertStarted(await call(open, unsigned.signed_call.body))
  })
})
