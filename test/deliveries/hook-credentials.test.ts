import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { credentialAad } from '#model/inventory/sealed-aad.ts'
import type { CredentialsTable } from '#platform/database/tables.ts'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { createMember, createTestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { box, db, move, request, startAction, tree } = world
const NAME = '{{ credential.access_token }}'
const HEADERS = { settings: { request_headers: [{ name: 'Authorization', value: `Bearer ${NAME}` }] } }
type Delivery = Awaited<ReturnType<typeof world.deliveries>>[number]
let count = 0

async function addCredential(
  token: string | null,
  baseUrl: string | null,
  provider: CredentialsTable['provider_code'] = 'slack',
  { organizationId, owner } = tree,
): Promise<number> {
  const { id } = await db
    .insertInto('credentials')
    .values({
      organization_id: organizationId,
      name: `Chat ${++count}`,
      provider_code: provider,
      auth_type: token === null ? 'none' : 'token',
      base_url: baseUrl,
      secret: token === null ? null : Buffer.alloc(0),
      created_by: owner.id,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (token !== null) await setToken(id, token)
  return id
}

const setToken = (id: number, token: string) =>
  db
    .updateTable('credentials')
    .set({ secret: box.seal(token, credentialAad(id)) })
    .where('id', '=', id)
    .execute()

const save = (body: object, token = tree.owner.token) =>
  request('POST', `/pipelines/${tree.pipelineId}/hooks/outgoing`, {
    token,
    body: { name: 'Notify', ...body },
  })

suite('a hook with a credential of its own', () => {
  test('sends its token; a rotated one is used from the next delivery on, a removed one is not sent', async (t) => {
    const receiver = await openReceiver(t)
    const id = await addCredential('xoxb-first-token', receiver.url)
    const made = await save({ target_url: receiver.url, credential_id: id, ...HEADERS })
    assert.equal(made.status, 201, made.text)
    assert.equal(made.body.credential_id, id)
    const action = await startAction()
    await move(action, IN_PROGRESS)
    const [first] = await receiver.until(1)
    assert.equal(first!.headers.authorization, 'Bearer xoxb-first-token')
    await world.untilIdle(made.body.id)
    const read = await request('GET', `/credentials/${id}`, { token: tree.owner.token })
    assert.equal(read.body.last_action.id, action)
    const use = { hook_id: made.body.id, name: 'Notify', pipeline_id: tree.pipelineId }
    assert.deepEqual(read.body.used_by_hooks, [use])

    await setToken(id, 'xoxb-second-token')
    await move(action, COMPLETED)
    const [, second] = await receiver.until(2)
    assert.equal(second!.headers.authorization, 'Bearer xoxb-second-token')
    await world.untilIdle(made.body.id)

    const refused = await request('DELETE', `/credentials/${id}`, { token: tree.owner.token })
    assert.equal(refused.status, 409)
    assert.deepEqual(refused.body.errors, { hooks: ['1 hook (Notify) uses it'] })
    await db.updateTable('credentials').set({ active: false }).where('id', '=', id).execute()
    await move(await startAction(), IN_PROGRESS)
    const records = await world.recorded(made.body.id, 3)
    assert.deepEqual([records[2]!.outcome, records[2]!.next_attempt_at], ['blocked', null])
    assert.match(records[2]!.error!, /credential of this hook is inactive/)
    assert.equal(receiver.arrivals.length, 2)
  })

  test('cannot be saved for an origin of someone else, nor sent there after base_url has changed', async (t) => {
    const receiver = await openReceiver(t)
    const slack = await addCredential('xoxb-1', null)
    const elsewhere = await save({ target_url: receiver.url, credential_id: slack, ...HEADERS })
    assert.equal(elsewhere.status, 422)
    assert.match(elsewhere.body.errors.target_url[0], /it may only go to https:\/\/slack\.com$/)
    const home = { target_url: 'https://slack.com/api/chat.postMessage', credential_id: slack, ...HEADERS }
    assert.equal((await save(home)).status, 201)
    // The application's credential is one of GitHub, without a base_url.
    const ofApplication = await save({ target_url: receiver.url, ...HEADERS })
    assert.match(ofApplication.body.errors.target_url[0], /https:\/\/api\.github\.com$/)

    const own = await addCredential('xoxb-2', receiver.url)
    const hook = await save({ target_url: receiver.url, credential_id: own, ...HEADERS })
    assert.equal(hook.status, 201, hook.text)
    const other = { base_url: 'https://proxy.example.com' }
    await db.updateTable('credentials').set(other).where('id', '=', own).execute()
    await move(await startAction(), IN_PROGRESS)
    const [record] = await world.recorded(hook.body.id, 1)
    assert.equal(record!.outcome, 'blocked')
    assert.match(record!.error!, /may only go to https:\/\/slack\.com or https:\/\/proxy\.example\.com/)
    assert.equal(receiver.arrivals.length, 0)
  })

  test('needs a usable credential of this organization with a token', async () => {
    const foreign = await createTestTree(db)
    const hidden = await addCredential('xoxb-3', null, 'slack', foreign)
    const target_url = 'https://slack.com/api/x'
    for (const credential_id of [hidden, 999_999_999]) {
      const absent = await save({ target_url, credential_id, ...HEADERS })
      assert.equal(absent.status, 404, absent.text)
      assert.match(absent.body.errors.credential_id[0], /does not exist in this organization/)
    }
    const publicOnly = await addCredential(null, null, 'github')
    const tokenless = await save({ target_url, credential_id: publicOnly })
    assert.deepEqual(tokenless.body.errors, { credential_id: ['has no token to send'] })
    const usable = await addCredential('xoxb-4', null)
    const developer = await createMember(db, tree, 'developer')
    assert.equal((await save({ target_url, credential_id: usable }, developer.token)).status, 403)
  })

  test('sends one token: not that of the application as well', async () => {
    const both = {
      settings: { request_body: { one: '{{ application.source_provider.access_token }}', other: NAME } },
    }
    const slack = await addCredential('xoxb-5', null)
    const target_url = 'https://slack.com/api/x'
    const mixed = await save({ target_url, credential_id: slack, ...both })
    assert.match(mixed.body.errors.settings[0], /tokens of two credentials/)
    const same = await save({ target_url: 'https://api.github.com/x', ...both })
    assert.equal(same.status, 201, same.text)
    // Another one would be the second.
    const changed = await world.change(same.body.id, { credential_id: slack })
    assert.match(changed.body.errors.settings[0], /tokens of two credentials/)
    const inUrl = await save({ target_url: `https://slack.com/api?t=${NAME}`, credential_id: slack })
    assert.deepEqual([inUrl.status, Object.keys(inUrl.body.errors)], [422, ['target_url']])
  })

  test('puts a replay that waits in its order when it gets a preset', async (t) => {
    const receiver = await openReceiver(t)
    receiver.answer(500)
    const credential_id = await addCredential('xoxb-7', receiver.url)
    const made = await save({ target_url: receiver.url, credential_id, ...HEADERS })
    await move(await startAction(), IN_PROGRESS)
    const [record] = await world.recorded(made.body.id, 1)
    await world.untilIdle(made.body.id)
    const replayed = await request('POST', `/hook-requests/${record!.id}/replay`, { token: tree.owner.token })
    assert.equal(replayed.status, 202, replayed.text)
    await world.recorded(made.body.id, 2)
    await world.untilIdle(made.body.id)
    const order = async () => {
      const [{ state, asked_by, is_redelivered }] = (await world.deliveries(made.body.id)) as [Delivery]
      return [state, asked_by, is_redelivered]
    }
    assert.deepEqual(await order(), ['pending', tree.owner.id, false])
    const settings = { preset: { kind: 'slack_message', channel: '#deploys' } }
    assert.equal((await world.change(made.body.id, { settings })).status, 200)
    assert.deepEqual(await order(), ['pending', null, true])
  })

  test('can give it up again, if its request may use the credential of the application', async () => {
    const slack = await addCredential('xoxb-6', null)
    const made = await save({ target_url: 'https://slack.com/api/x', credential_id: slack, ...HEADERS })
    assert.equal(made.status, 201, made.text)
    const cleared = await world.change(made.body.id, { credential_id: null })
    assert.match(cleared.body.errors.target_url[0], /api\.github\.com/)
    const target_url = 'https://api.github.com/x'
    const moved = await world.change(made.body.id, { credential_id: null, target_url })
    assert.deepEqual([moved.status, moved.body.credential_id], [200, null])
  })
})
