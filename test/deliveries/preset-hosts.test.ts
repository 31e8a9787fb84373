// Presets that report on commits send only while the repository of the application is at the host of their credential.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { COMPLETED, IN_PROGRESS, openDeliveries, openReceiver } from '#test/support/deliveries.ts'
import { openPreset } from '#test/support/presets.ts'
import { createMember, createTestTree, type TestTree } from '#test/support/world.ts'

const world = await openDeliveries({ after })
const { db, move, request, startAction } = world
const COMMIT = 'a'.repeat(40)

async function open(t: Parameters<typeof openReceiver>[0]) {
  const receiver = await openReceiver(t)
  receiver.answer(201, {}, '{}')
  const tree = await createTestTree(db)
  await setRepository(tree, `${receiver.url}/acme/shop.git`)
  const preset = await openPreset(world, receiver, { kind: 'gitea_status' }, { tree })
  const run = () => startAction(tree, { commit: COMMIT })
  return { receiver, ...preset, run }
}

const setRepository = (tree: TestTree, repository: string) =>
  db
    .updateTable('applications')
    .set({ repository, credential_id: null })
    .where('id', '=', tree.applicationId)
    .execute()

test('a repository that moves to another host stops the hook; one that is back does not', async (t) => {
  const { receiver, tree, hook, run } = await open(t)
  const action = await run()
  const [first] = await receiver.until(1)
  assert.equal(first!.path, `/api/v1/repos/acme/shop/statuses/${COMMIT}`)
  await world.untilIdle(hook.id)

  await setRepository(tree, 'https://git.evil.example/acme/shop.git')
  await move(action, IN_PROGRESS)
  const [, blocked] = await world.recorded(hook.id, 2)
  assert.deepEqual(
    [blocked!.outcome, blocked!.request_headers, receiver.arrivals.length],
    ['blocked', null, 1],
  )
  assert.match(blocked!.error!, /git\.evil\.example.*127\.0\.0\.1.*ssh_hosts/)
  const { token } = tree.owner
  const url = `/hooks/outgoing/${hook.id}`
  const tested = await request('POST', `${url}/test`, { token })
  assert.equal(tested.body.outcome, 'blocked')
  const preview = await request('POST', `${url}/preview`, { token, body: {} })
  assert.match(preview.body.access_token, /git\.evil\.example/)
  assert.equal(receiver.arrivals.length, 1)

  await setRepository(tree, `${receiver.url.toUpperCase().replace('HTTP', 'http')}/acme/shop`)
  await move(action, COMPLETED)
  await receiver.until(2)
})

test('hosts of the credential count from the moment at which they are stored', async (t) => {
  const { receiver, tree, hook, credentialId, run } = await open(t)
  await setRepository(tree, 'git@code.example.com:acme/shop.git')
  const { token } = tree.owner
  const setHosts = (ssh_hosts: string[]) =>
    request('PUT', `/credentials/${credentialId}`, { token, body: { ssh_hosts } })
  await run()
  assert.equal((await world.recorded(hook.id, 1))[0]!.outcome, 'blocked')
  assert.equal((await setHosts(['code.example.com'])).status, 200)
  await run()
  await receiver.until(1)
  await world.untilIdle(hook.id)
  assert.equal((await setHosts([])).status, 200)
  await run()
  const records = await world.recorded(hook.id, 3)
  assert.deepEqual(
    records.map(({ outcome }) => outcome),
    ['blocked', 'delivered', 'blocked'],
  )
  assert.equal(receiver.arrivals.length, 1)
})

test('a hook stays silent after its editor lost credential:run, also when that person changes the repository', async (t) => {
  const receiver = await openReceiver(t)
  receiver.answer(201, {}, '{}')
  const tree = await createTestTree(db)
  await setRepository(tree, `${receiver.url}/acme/shop.git`)
  const { hook } = await openPreset(world, receiver, { kind: 'gitea_status' }, { tree })
  const admin = await createMember(db, tree, 'admin')
  assert.equal((await world.change(hook.id, { name: 'Mine' }, admin.token)).status, 200)
  await sql`update grants set built_in_role = 'developer' where user_id = ${admin.id}`.execute(db)
  const body = { repository: `${receiver.url}/victim/payments.git` }
  const url = `/applications/${tree.applicationId}`
  assert.equal((await request('PUT', url, { token: admin.token, body })).status, 403)
  await startAction(tree, { commit: COMMIT })
  const [record] = await world.recorded(hook.id, 1)
  assert.equal(record!.outcome, 'blocked')
  assert.match(record!.error!, /credential:run/)
  assert.equal(receiver.arrivals.length, 0)
})
