import assert from 'node:assert/strict'
import { verifyDelivery } from '#client/index.ts'
import type { openReceiver } from '#test/support/deliveries.ts'
import { at, type Drive } from './recorder.ts'

type Receiver = Awaited<ReturnType<typeof openReceiver>>

/** A call that starts a run, and what is delivered about it. */
export async function driveHooks(
  drive: Drive,
  pipelineId: number,
  receiver: Receiver,
  organizationId: number,
): Promise<void> {
  const { admin, anyone } = drive
  const pipeline = at({ id: pipelineId })
  const outgoing = await admin.post('/pipelines/{id}/hooks/outgoing', {
    ...pipeline,
    body: { name: 'Notify', target_url: receiver.url, trigger_when: { events: ['action.completed'] } },
  })
  const outgoingHook = at({ hook_id: outgoing.id })
  await admin.get('/hooks/outgoing/{hook_id}', outgoingHook)
  await admin.put('/hooks/outgoing/{hook_id}', {
    ...outgoingHook,
    body: { settings: { request_body: { status: '{{ action.status }}' } } },
  })
  const { secret } = await admin.post('/hooks/outgoing/{hook_id}/rotate-secret', {
    ...outgoingHook,
    body: { overlap_seconds: 0 },
  })
  await admin.post('/hooks/outgoing/{hook_id}/preview', outgoingHook)
  await driveTest(drive, outgoing.id, secret!)
  await driveEject(drive, pipelineId, organizationId)

  const incoming = await admin.post('/pipelines/{id}/hooks/incoming', {
    ...pipeline,
    body: { name: 'Push', settings: { variables: [{ name: 'branch', type: 'string', required: true }] } },
  })
  const incomingHook = at({ hook_id: incoming.id })
  const { environment_id } = (await admin.get('/pipelines/{id}/hooks', pipeline))[0]!
  await admin.get('/environments/{id}/hooks', at({ id: environment_id }))
  await admin.get('/environments/{id}/pipelines', at({ id: environment_id }))
  await admin.get('/hooks/incoming/{hook_id}', incomingHook)
  await admin.put('/hooks/incoming/{hook_id}', { ...incomingHook, body: { name: 'Pushed' } })
  const { verdict } = await admin.post('/hooks/incoming/{hook_id}/dry-run', {
    ...incomingHook,
    body: { body: { branch: 'main' } },
  })
  assert.equal(verdict, 'accepted')
  const token = new URL(incoming.url!).pathname.split('/')[2]!
  const { action_id } = await anyone.post('/hooks/{token}/trigger', {
    ...at({ token }),
    body: { branch: 'main' },
  })
  assert.equal((await admin.wait(action_id!)).status, 'completed')

  const [call] = await admin.get('/hooks/incoming/{hook_id}/requests', incomingHook)
  await admin.get('/hook-requests/{id}', at({ id: call!.id }))
  const replayed = await admin.post('/hook-requests/{id}/replay', at({ id: call!.id }))
  // The test came first.
  await receiver.until(2)
  assert.equal(receiver.arrivals[1]!.json.status, 'completed')
  await admin.get('/hooks/outgoing/{hook_id}/requests', outgoingHook)
  await admin.get('/hooks/outgoing/{hook_id}/hours', outgoingHook)
  await admin.get('/actions/{id}/hook-requests', at({ id: action_id! }))
  await admin.post('/hooks/outgoing/{hook_id}/redeliver', {
    ...outgoingHook,
    body: { from: new Date(Date.now() - 3_600_000).toISOString(), only_failed: false },
  })
  if (replayed && 'action_id' in replayed) await admin.wait(replayed.action_id!)
  await admin.put('/hooks/incoming/{hook_id}', { ...incomingHook, body: { requires_secret: true } })
  await admin.post('/hooks/incoming/{hook_id}/rotate-secret', incomingHook)
  await driveConnection(drive, pipelineId, organizationId, incoming.id)
  await admin.delete('/hooks/incoming/{hook_id}', incomingHook)
  await admin.delete('/hooks/outgoing/{hook_id}', outgoingHook)
}

/** The host does not answer: the hook says so. */
async function driveConnection(
  { admin }: Drive,
  pipelineId: number,
  organizationId: number,
  hookId: string,
): Promise<void> {
  const { resource_id, resource_type } = await admin.get('/pipelines/{id}', at({ id: pipelineId }))
  assert.equal(resource_type, 'application')
  const application = at({ id: resource_id })
  const { repository } = await admin.get('/applications/{id}', application)
  const base_url = 'http://127.0.0.1:9'
  const { id } = await admin.post('/organizations/{id}/credentials', {
    ...at({ id: organizationId }),
    body: { name: 'Gitea', provider_code: 'gitea', base_url, token: 'token' },
  })
  await admin.put('/applications/{id}', {
    ...application,
    body: { repository: `${base_url}/acme/shop.git`, credential_id: id },
  })
  const hook = at({ hook_id: hookId })
  const { connection } = await admin.post('/hooks/incoming/{hook_id}/connection', hook)
  assert.equal(connection!.provider, 'gitea')
  await admin.post('/hooks/incoming/{hook_id}/connection/check', hook)
  await admin.get('/hooks/incoming/{hook_id}/catch-ups', hook)
  await admin.get('/hooks/incoming/{hook_id}/missed-calls', hook)
  await admin.delete('/hooks/incoming/{hook_id}/connection', hook)
  await admin.put('/applications/{id}', { ...application, body: { repository, credential_id: null } })
}

/** A test reaches the receiver, and everybody who follows the deliveries, signed with the secret of the hook. */
async function driveTest({ admin }: Drive, hookId: string, secret: string): Promise<void> {
  await admin.get('/catalog/senders')
  await admin.get('/catalog/receivers')
  const connected = Promise.withResolvers<void>()
  const deliveries = admin.followDeliveries(hookId, { onConnect: connected.resolve })
  const first = deliveries.next()
  await connected.promise
  await admin.post('/hooks/outgoing/{hook_id}/test', at({ hook_id: hookId }))
  const { data } = (await first).value!
  assert.equal(data.event, 'test')
  const { id } = await verifyDelivery({ headers: data.headers, body: data.body, secret })
  assert.equal(id, data.id)
  await deliveries.return()
}

/** A hook with a preset becomes an ordinary one. Removed, so that it sends nothing. */
async function driveEject({ admin }: Drive, pipelineId: number, organizationId: number): Promise<void> {
  const { id: credential_id } = await admin.post('/organizations/{id}/credentials', {
    ...at({ id: organizationId }),
    body: { name: 'Chat', provider_code: 'slack', token: 'xoxb-token' },
  })
  const preset = { kind: 'slack_message' as const, channel: '#deploys' }
  const { id, effective_settings } = await admin.post('/pipelines/{id}/hooks/outgoing', {
    ...at({ id: pipelineId }),
    body: { name: 'Chat', credential_id, settings: { preset } },
  })
  const { settings } = await admin.post('/hooks/outgoing/{hook_id}/eject', at({ hook_id: id }))
  assert.deepEqual(settings, effective_settings)
  await admin.delete('/hooks/outgoing/{hook_id}', at({ hook_id: id }))
}
