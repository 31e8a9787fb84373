import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, suite, test } from 'node:test'
import { pino } from 'pino'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

let logged = ''
const log = pino(
  { level: 'trace' },
  new Writable({
    write(chunk, _, done) {
      logged += chunk
      done()
    },
  }),
)
const world = await openDeliveries({ after }, { log })
const { box, db, makeHook, move, request, startAction } = world

const TOKEN = 'glpat-o/ne+two=thr?ee&four'
const NAME = '{{ application.source_provider.access_token }}'
const WITH_TOKEN = { settings: { request_headers: [{ name: 'Private-Token', value: NAME }] } }
const TARGET = { target_url: 'http://127.0.0.1:9/' }

async function openTree(): Promise<TestTree> {
  const tree = await createTestTree(db)
  const secret = box.seal(TOKEN, credentialAad(tree.credentialId))
  await db.updateTable('credentials').set({ secret }).where('id', '=', tree.credentialId).execute()
  return tree
}

const save = (tree: TestTree, input: object, token = tree.owner.token) =>
  request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token,
    body: { name: 'Notify', ...TARGET, ...input },
  })

/** The token in every encoding in which it could be stored. */
const FORMS = [
  TOKEN,
  JSON.stringify(TOKEN).slice(1, -1),
  encodeURIComponent(TOKEN),
  new URLSearchParams([['', TOKEN]]).toString().slice(1),
  Buffer.from(TOKEN).toString('base64'),
  Buffer.from(TOKEN).toString('base64url'),
  Buffer.from(`oauth2:${TOKEN}`).toString('base64'),
]

function assertHidden(text: string, secrets: readonly string[]): void {
  for (const secret of secrets) assert.ok(!text.includes(secret), `${secret} can be read`)
}

suite('a hook that sends the token of a credential', () => {
  test('can be saved only by users who may use the credential', async () => {
    const tree = await openTree()
    const developer = await createMember(db, tree, 'developer')
    const made = await save(tree, WITH_TOKEN)
    assert.equal(made.status, 201, made.text)
    const refused = await save(tree, WITH_TOKEN, developer.token)
    assert.equal(refused.status, 403)
    assert.match(refused.body.message, /credential:run/)
    assert.equal((await save(tree, {}, developer.token)).status, 201)
    // Any editor would become the user on whose behalf the hook sends the token.
    const renamed = await world.change(made.body.id, { name: 'Mine' }, developer.token)
    assert.equal(renamed.status, 403)
    const inBody = { settings: { request_body: { deep: [{ token: `x ${NAME}` }] } } }
    assert.equal((await save(tree, inBody, developer.token)).status, 403)
    assert.equal((await save(tree, inBody)).status, 201)
  })

  test('requires an application with such a credential', async () => {
    const tree = await openTree()
    const { token } = tree.owner
    await db
      .updateTable('applications')
      .set({ credential_id: null })
      .where('id', '=', tree.applicationId)
      .execute()
    const answer = await save(tree, WITH_TOKEN)
    assert.equal(answer.status, 422, answer.text)
    assert.match(JSON.stringify(answer.body.errors), /no credential with a token/)
    const ofServer = await request('POST', `/pipelines/${tree.serverPipelineId}/hooks/outgoing`, {
      token,
      body: { name: 'Notify', ...TARGET, ...WITH_TOKEN },
    })
    assert.equal(ofServer.status, 422)
  })

  test('cannot contain it in its URL', async () => {
    const tree = await openTree()
    const answer = await save(tree, { target_url: `http://127.0.0.1:9/?token=${NAME}` })
    assert.equal(answer.status, 422)
    assert.deepEqual(Object.keys(answer.body.errors), ['target_url'])
  })

  test('stops when the user who saved it may no longer use the credential', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await openTree()
    const admin = await createMember(db, tree, 'admin')
    const made = await save(tree, { target_url: receiver.url, ...WITH_TOKEN }, admin.token)
    assert.equal(made.status, 201, made.text)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    const [arrival] = await receiver.until(1)
    assert.equal(arrival!.headers['private-token'], TOKEN)
    await world.untilIdle(made.body.id)

    await db
      .updateTable('grants')
      .set({ built_in_role: 'developer' })
      .where('user_id', '=', admin.id)
      .execute()
    await move(action, COMPLETED)
    const [, record] = await world.recorded(made.body.id, 2)
    assert.deepEqual([record!.outcome, record!.next_attempt_at], ['blocked', null])
    assert.match(record!.error!, /credential:run/)
    assert.equal((await world.untilIdle(made.body.id))[1]!.state, 'failed')
    assert.equal(receiver.arrivals.length, 1)

    // After a user who may use the credential saves it again, it can be sent.
    assert.equal((await world.change(made.body.id, { name: 'Again' }, tree.owner.token)).status, 200)
    await request('POST', `/hook-requests/${record!.id}/replay`, { token: tree.owner.token })
    const [, again] = await receiver.until(2)
    assert.equal(again!.headers['private-token'], TOKEN)
  })

  test('counts as a use of the credential; a delivery without its token does not', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await openTree()
    const plain = await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
    const { token } = tree.owner
    const lastAction = async () =>
      (await request('GET', `/credentials/${tree.credentialId}`, { token })).body.last_action?.id ?? null
    await move(await startAction(tree), IN_PROGRESS)
    await receiver.until(1)
    await world.untilIdle(plain.id)
    assert.equal(await lastAction(), null)
    const hook = await makeHook({ target_url: receiver.url, ...WITH_TOKEN }, tree)
    const action = await startAction(tree)
    await move(action, IN_PROGRESS)
    await receiver.until(3)
    await world.untilIdle(hook.id)
    assert.equal(await lastAction(), action)
  })

  test('stops when the credential is disabled', async (t) => {
    const receiver = await openReceiver(t)
    const tree = await openTree()
    const hook = await makeHook({ target_url: receiver.url, ...WITH_TOKEN }, tree)
    await db.updateTable('credentials').set({ active: false }).where('id', '=', tree.credentialId).execute()
    await move(await startAction(tree), IN_PROGRESS)
    const [record] = await world.recorded(hook.id, 1)
    assert.deepEqual([record!.outcome, receiver.arrivals.length], ['blocked', 0])
  })

  test('leaves it in no record and no log, whatever the receiver does with it', async (t) => {
    const receiver = await openReceiver(t)
    receiver.behave((_, response, { headers, body }) => {
      const echo = { headers, body, forms: FORMS }
      response.setHeader(
        'x-echo',
        FORMS.filter((form) => !/[^ -~]/.test(form)),
      )
      response.setHeader('set-cookie', `token=${encodeURIComponent(TOKEN)}`)
      response.writeHead(500).end(JSON.stringify(echo) + FORMS.join('\n'))
    })
    const tree = await openTree()
    const hook = await makeHook(
      {
        target_url: `${receiver.url}/{{ action.id }}`,
        settings: {
          request_headers: [
            { name: 'Authorization', value: `Bearer ${NAME}` },
            { name: 'X-Plain', value: `in ${NAME} between` },
          ],
          request_body: {
            token: NAME,
            url: `https://x/?t={{ application.source_provider.access_token | url_encode }}`,
          },
        },
      },
      tree,
    )
    await move(await startAction(tree), IN_PROGRESS)
    const [record] = await world.recorded(hook.id, 1)
    await world.untilIdle(hook.id)
    assert.ok(receiver.arrivals[0]!.body.includes(JSON.stringify(TOKEN)))
    const shown = await request('GET', `/hook-requests/${record!.id}`, { token: tree.owner.token })
    // A receiver that is not the provider may repeat the token in any form.
    assert.equal(shown.body.response_body, null)
    assert.equal(shown.body.response_headers['x-echo'], '********')
    const listed = await request('GET', `/hooks/outgoing/${hook.id}/requests`, { token: tree.owner.token })
    const secrets = [...FORMS, 'glpat-o', hook.secret, hook.secret.slice('whsec_'.length)]
    const { request_body, response_body } = record!
    assertHidden(`${request_body}${response_body}${JSON.stringify(record)}`, secrets)
    assertHidden(shown.text + listed.text, secrets)
    assertHidden(logged, secrets)
    assert.match(logged, /delivery attempt/)
  })
})

test('a hook that cannot be opened does not block others', async (t) => {
  const receiver = await openReceiver(t)
  const tree = await createTestTree(db)
  // Its credential is sealed with an unknown key.
  const broken = await makeHook({ target_url: receiver.url, ...WITH_TOKEN }, tree)
  const hook = await makeHook({ target_url: receiver.url, settings: { request_body: {} } }, tree)
  await move(await startAction(tree), IN_PROGRESS)
  await receiver.until(1)
  await world.untilIdle(hook.id)
  const [delivery] = await world.untilIdle(broken.id)
  assert.equal(delivery!.state, 'pending')
  assert.equal(receiver.arrivals.length, 1)
})
