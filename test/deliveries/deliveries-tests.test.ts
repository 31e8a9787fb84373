// Trying out an outgoing hook: previews of unsaved changes, and tests that really send one request.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { expandEntry } from '#client/index.ts'
import { RECEIVERS } from '#manage/catalog/receivers.ts'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import { exampleValues } from '#test/support/catalog.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { box, db, makeHook, move, request, startAction } = world
const TOKEN = 'token-of-the-credential'

/** An application with a credential that holds a token. */
async function openTree(): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = box.seal(TOKEN, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  return tree
}

const ask = (
  verb: string,
  hookId: string,
  body: object | undefined,
  { owner }: TestTree,
  token = owner.token,
) => request('POST', `/hooks/outgoing/${hookId}/${verb}`, { token, body })

suite('a preview of an unsaved change', () => {
  test('shows what would be sent, of any size, and saves nothing', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook({ target_url: receiver.url, active: false }, tree)
    const action = await startAction(tree)
    const read = async () =>
      (await request('GET', `/hooks/outgoing/${hook.id}`, { token: tree.owner.token })).text
    const before = await read()
    const target_url = `${receiver.url}/runs/{{ action.id }}`
    const answer = await request('POST', `/hooks/outgoing/${hook.id}/preview`, {
      token: tree.owner.token,
      rawBody: `{"target_url": "${target_url}", "settings": {"request_method": "PUT",
        "request_headers": [{"name": "X-Run", "value": "{{ action.status }}"}],
        "request_body": {"z": "{{ pipeline.name }}", "a": 12345678901234567890}}}`,
    })
    assert.equal(answer.status, 200, answer.text)
    const { method, url, headers, body } = answer.body
    assert.deepEqual(
      { method, url, headers, body },
      {
        method: 'PUT',
        url: `${receiver.url}/runs/${action}`,
        headers: { 'X-Run': 'queued' },
        body: '{"z":"Deploy","a":12345678901234567890}',
      },
    )
    const onlyUrl = await ask('preview', hook.id, { target_url }, tree)
    assert.equal(onlyUrl.body.url, `${receiver.url}/runs/${action}`)
    assert.ok('event' in JSON.parse(onlyUrl.body.body), 'the stored settings apply')
    assert.equal(await read(), before)
    assert.deepEqual([receiver.arrivals, await world.requests(hook.id)], [[], []])
  })

  test('is validated like a saved one: the same errors at the same fields', async () => {
    const tree = await openTree()
    const hook = await makeHook({ target_url: 'https://example.com/' }, tree)
    await startAction(tree)
    const wrong = [
      { target_url: 'http://10.0.0.1/x', settings: { request_body: { a: '{{ nothing }}' } } },
      { target_url: 'https://{{ application.name }}.example.com/' },
      { target_url: 'ftp://example.com', settings: { timeout_seconds: 31, headers: [] } },
      {
        settings: {
          request_headers: [
            { name: 'Host', value: 'x' },
            { name: 'x', value: '{% if %}' },
          ],
        },
      },
    ]
    for (const input of wrong) {
      const saved = await world.change(hook.id, input, tree.owner.token)
      const tried = await ask('preview', hook.id, input, tree)
      assert.equal(tried.status, 422)
      assert.deepEqual(tried.body.errors, saved.body.errors)
    }
  })

  test('needs the permission to use the credential when it uses its token, like saving', async () => {
    const tree = await openTree()
    const hook = await makeHook({ target_url: 'https://example.com/' }, tree)
    await startAction(tree)
    const header = { name: 'Authorization', value: 'Bearer {{ application.source_provider.access_token }}' }
    const input = { settings: { request_headers: [header] } }
    const developer = await createMember(db, tree, 'developer')
    assert.equal((await ask('preview', hook.id, input, tree, developer.token)).status, 403)
    const allowed = await ask('preview', hook.id, input, tree)
    assert.equal(allowed.body.access_token, 'used; masked in this preview')
    assert.equal(allowed.text.includes(TOKEN), false)
  })

  for (const { code, hook: template, fields, uses_access_token, credential_provider } of RECEIVERS)
    test(`renders the receiver ${code} of the catalog`, async () => {
      const tree = await openTree()
      const hook = await makeHook({ target_url: 'https://example.com/' }, tree)
      await startAction(tree, { commit: '1f0c5e7a9b3d4c2e8f6a7b5c4d3e2f1a0b9c8d7e' })
      const { target_url, settings } = expandEntry(template, exampleValues(fields))
      // The application has one of GitHub.
      const home = {
        provider_code: (credential_provider ?? 'github') as 'github',
        base_url: 'https://git.example.com',
        ssh_hosts: ['github.com'],
      }
      await db.updateTable('credentials').set(home).where('id', '=', tree.credentialId).execute()
      const answer = await ask('preview', hook.id, { target_url, settings }, tree)
      assert.equal(answer.status, 200, answer.text)
      const { url, body, access_token } = answer.body
      assert.doesNotMatch(`${url} ${body}`, /\{\{|\{%|<[a-z_]+>/)
      assert.equal(new URL(url).host, new URL(target_url ?? home.base_url).host)
      assert.equal(access_token !== 'not used', uses_access_token)
      const saved = await world.change(hook.id, { target_url, settings }, tree.owner.token)
      assert.equal(saved.status, 200, saved.text)
    })

  test('names the pipeline in chat messages about a server, which has no application', async () => {
    const tree = await openTree()
    const ofServer = { ...tree, pipelineId: tree.serverPipelineId }
    const hook = await makeHook({ target_url: 'https://example.com/' }, ofServer)
    await startAction(ofServer, {}, 'restart')
    const chats = RECEIVERS.filter(
      ({ code, credential_provider }) => /_(message|webhook)$/.test(code) && credential_provider === null,
    )
    assert.equal(chats.length, 4)
    for (const { code, hook: template, fields } of chats) {
      const { settings } = expandEntry(template, exampleValues(fields))
      const answer = await ask('preview', hook.id, { settings }, tree)
      assert.equal(answer.status, 200, answer.text)
      assert.match(answer.body.body, /[ "]Restart, /, code)
    }
  })
})

suite('a test of an outgoing hook', () => {
  test('sends the newest action once, signed, and responds with the record', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    receiver.answer(202, {}, 'thanks')
    // Disabled, and its condition is not met: a test is sent all the same.
    const trigger_when = { conditions: [{ path: 'action.status', accepted_values: ['skipped'] }] }
    const hook = await makeHook({ target_url: `${receiver.url}/x`, active: false, trigger_when }, tree)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS, COMPLETED)
    const { status, body } = await ask('test', hook.id, undefined, tree)
    assert.equal(status, 200)
    const [arrival, ...more] = receiver.arrivals
    assert.equal(more.length, 0)
    assert.deepEqual(new Webhook(hook.secret).verify(arrival!.body, arrival!.headers), arrival!.json)
    const sent = arrival!.json
    assert.deepEqual(
      [sent.event.kind, sent.event.id, sent.action.id, sent.action.status],
      ['test', null, action, 'completed'],
    )
    const { outcome, event, response_status_code, response_body, attempt, action_id, next_attempt_at } = body
    assert.deepEqual(
      { outcome, event, response_status_code, response_body, attempt, action_id, next_attempt_at },
      {
        outcome: 'delivered',
        event: 'test',
        response_status_code: 202,
        response_body: 'thanks',
        attempt: 1,
        action_id: action,
        next_attempt_at: null,
      },
    )
    assert.equal(body.sample_action, false)
    assert.equal(body.request_body, arrival!.body)
    const { sample_action: _, ...record } = body
    const read = await request('GET', `/hook-requests/${body.id}`, { token: tree.owner.token })
    assert.deepEqual(read.body, record)
  })

  test('uses the given action, and only one that matches the hook', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook(
      { target_url: receiver.url, trigger_when: { events: ['action.failed'] } },
      tree,
    )
    const [older] = [await startAction(tree), await startAction(tree)]
    assert.equal((await ask('test', hook.id, { action_id: older }, tree)).body.action_id, older)
    const foreign = await startAction(await createTestTree(db))
    const unknown = await ask('test', hook.id, { action_id: foreign }, tree)
    assert.deepEqual([unknown.status, Object.keys(unknown.body.errors)], [404, ['action_id']])
    assert.equal(receiver.arrivals.length, 1)
  })

  test('uses a sample action before the first run, and says so', async (t) => {
    const tree = await openTree()
    const receiver = await openReceiver(t)
    const { hook: template } = RECEIVERS.find(({ code }) => code === 'slack_webhook')!
    const slack = await makeHook({ ...template, target_url: receiver.url }, tree)
    const own = await makeHook({ target_url: receiver.url }, tree)
    for (const { id } of [slack, own]) {
      const { status, body } = await ask('test', id, {}, tree)
      assert.deepEqual(
        [status, body.sample_action, body.action_id, body.outcome],
        [200, true, null, 'delivered'],
      )
    }
    const [message, event] = receiver.arrivals
    assert.match(message!.json.blocks[0].text.text, /^✅ Shop, .*: Completed\nSample commit of a test$/)
    const stored = await startAction(tree)
    const { body: real } = await request('GET', `/actions/${stored}`, { token: tree.owner.token })
    assert.deepEqual(Object.keys(event!.json.action).sort(), Object.keys(real).sort())
    assert.deepEqual([event!.json.event.kind, event!.json.action.id], ['test', 0])
    assert.deepEqual(event!.json.action.environment, real.environment)
  })

  test('that fails is recorded, not retried, and says nothing about the receiver', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    receiver.answer(410)
    const hook = await makeHook({ target_url: receiver.url, active: false }, tree)
    const action = await startAction(tree)
    for (let n = 0; n < 5; n += 1) {
      const { status, body } = await ask('test', hook.id, {}, tree)
      assert.deepEqual([status, body.outcome, body.next_attempt_at], [200, 'refused', null])
    }
    assert.deepEqual([await world.health(hook.id), await world.deliveries(hook.id)], [undefined, []])
    const { body } = await request('GET', `/hooks/outgoing/${hook.id}`, { token: tree.owner.token })
    assert.deepEqual([body.disabled_at, body.disabled_reason], [null, null])
    const { body: read } = await request('GET', `/actions/${action}`, { token: tree.owner.token })
    assert.equal(read.hook_requests.outgoing, null, 'it is no delivery of the action')
    const [first] = await world.requests(hook.id)
    const replay = await request('POST', `/hook-requests/${first!.id}/replay`, { token: tree.owner.token })
    assert.equal(replay.status, 409)
  })

  test('does not touch the order of deliveries', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook({ target_url: receiver.url }, tree)
    const action = await startAction(tree)
    await ask('test', hook.id, {}, tree)
    await move(action, IN_PROGRESS, COMPLETED)
    await receiver.until(3)
    assert.deepEqual(
      receiver.arrivals.map(({ json }) => json.event.kind),
      ['test', 'action.status_changed', 'action.status_changed'],
    )
    await world.untilIdle(hook.id)
    const kinds = (await world.requests(hook.id)).map(({ event_kind }) => event_kind)
    assert.deepEqual(kinds.sort(), ['action.status_changed', 'action.status_changed', 'test'])
  })

  test('hides the token of the credential, wherever the receiver repeats it', async (t) => {
    const tree = await openTree()
    const receiver = await openReceiver(t)
    receiver.behave(({ headers }, response) => response.end(`you are ${headers['x-key']}`))
    const header = { name: 'X-Key', value: '{{ application.source_provider.access_token }}' }
    const hook = await makeHook({ target_url: receiver.url, settings: { request_headers: [header] } }, tree)
    const { text, body } = await ask('test', hook.id, {}, tree)
    assert.equal(receiver.arrivals[0]!.headers['x-key'], TOKEN)
    assert.deepEqual([body.response_body, text.includes(TOKEN)], [null, false])
    await db
      .updateTable('credentials')
      .set({ base_url: receiver.url })
      .where('id', '=', tree.credentialId)
      .execute()
    const ofProvider = await ask('test', hook.id, {}, tree)
    assert.deepEqual(
      [ofProvider.body.response_body, ofProvider.text.includes(TOKEN)],
      ['you are ********', false],
    )
  })

  test('goes only where deliveries may go', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook({ target_url: receiver.url }, tree)
    const guard = createAddressGuard({ allowTargets: [], baseUrl: () => 'http://gantry.test' })
    const strict = await openTestApp(t, { beside: world.api, guard })
    const { token } = tree.owner
    const { body } = await strict.request('POST', `/hooks/outgoing/${hook.id}/test`, { token })
    assert.equal(body.outcome, 'blocked')
    assert.match(body.error, /127\.0\.0\.1/)
    assert.equal(receiver.arrivals.length, 0)
  })

  test('is in the audit log, and needs hook:edit', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook({ target_url: receiver.url }, tree)
    const action = await startAction(tree)
    const viewer = await createMember(db, tree, 'viewer')
    assert.equal((await ask('test', hook.id, {}, tree, viewer.token)).status, 403)
    await ask('test', hook.id, {}, tree)
    const url = `/organizations/${tree.organizationId}/audit`
    const { body } = await request('GET', url, { token: tree.owner.token })
    const { verb, subject_type, subject_id, after } = body[0]
    assert.deepEqual(
      { verb, subject_type, subject_id, after },
      { verb: 'tested', subject_type: 'outgoing_hook', subject_id: hook.id, after: { action_id: action } },
    )
    assert.equal(receiver.arrivals.length, 1)
  })

  test('is limited per hook', async (t) => {
    const tree = await createTestTree(db)
    const receiver = await openReceiver(t)
    const hook = await makeHook({ target_url: receiver.url }, tree)
    const answers = await Promise.all(Array.from({ length: 12 }, () => ask('test', hook.id, {}, tree)))
    const refused = answers.filter(({ status }) => status === 429)
    assert.ok(refused.length >= 1)
    assert.equal(receiver.arrivals.length, 12 - refused.length)
    for (const { headers } of refused) assert.ok(Number(headers['retry-after']) > 0)
    const other = await makeHook({ target_url: receiver.url }, tree)
    assert.equal((await ask('test', other.id, {}, tree)).status, 200)
  })
})
