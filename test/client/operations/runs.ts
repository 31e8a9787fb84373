import assert from 'node:assert/strict'
import { until } from '#test/support/until.ts'
import { at, type Drive } from './recorder.ts'

/** A deploy of the sample, and a run that is cancelled. Returns the deploy. */
export async function driveRuns({ admin }: Drive, sample: { pipelineId: number; serverId: number }) {
  const pipeline = at({ id: sample.pipelineId })
  await admin.post('/pipelines/{id}/plan', pipeline)
  const { id } = await admin.post('/pipelines/{id}/actions', pipeline)
  const types = new Set<string>()
  for await (const { type } of admin.followAction(id)) types.add(type)
  assert.deepEqual([...types].sort(), ['action', 'end', 'log', 'step', 'target'])
  const action = await admin.wait(id)
  assert.equal(action.status, 'completed')
  const [target] = action.targets
  const log = await admin.get('/actions/{action_id}/targets/{target_id}/steps/{order}/logs', {
    params: { path: { action_id: id, target_id: target!.id, order: 1 }, query: { after: 0 } },
  })
  assert.equal(log.step.order, 1)

  const changes = await admin.get('/actions/{action_id}/changes', at({ action_id: id }))
  assert.equal(changes.reason, 'first_release')
  assert.deepEqual(await admin.get('/actions/{id}/notifications', at({ id })), [])

  const custom = await admin.post('/pipelines/server/{resource_id}', {
    ...at({ resource_id: sample.serverId }),
    body: { name: 'Wait', operation: 'custom' },
  })
  await admin.get('/pipelines/server/{resource_id}', at({ resource_id: sample.serverId }))
  await admin.post('/pipelines/{id}/steps', {
    ...at({ id: custom.id }),
    body: { name: 'wait', command: 'sleep 600' },
  })
  const events = admin.followActions({ query: { 'filter[pipeline_id]': String(custom.id) } })
  assert.equal((await events.next()).value?.type, 'ready')
  const long = await admin.post('/pipelines/{id}/actions', at({ id: custom.id }))
  assert.equal((await events.next()).value?.type, 'action')
  await events.return()
  await admin.post('/actions/{id}/cancel', at({ id: long.id }))
  assert.equal((await admin.wait(long.id)).status_reason_code, 'FAILED_CANCELLED')

  const incident = { name: 'Incident', reason: 'Payments fail', starts_at: '2026-01-01T00:00:00Z' }
  const frozen = at({ id: custom.environment_id })
  const freeze = await admin.post('/environments/{id}/freezes', { ...frozen, body: incident })
  const held = await admin.post('/pipelines/{id}/actions', at({ id: custom.id }))
  const { gates } = await admin.get('/actions/{id}/gates', at({ id: held.id }))
  assert.deepEqual(
    gates.map(({ gate, state }) => [gate, state]),
    [['freeze', 'closed']],
  )
  const letThrough = { gate: 'freeze' as const, reason: 'Fixes it' }
  await admin.post('/actions/{id}/override', { ...at({ id: held.id }), body: letThrough })
  await admin.delete('/freezes/{id}', at({ id: freeze.id }))
  await admin.post('/actions/{id}/cancel', at({ id: held.id }))

  const approval = { not_the_starter: false }
  await admin.put('/environments/{id}', { ...frozen, body: { approval } })
  for (const verb of ['approve', 'reject'] as const) {
    const asked = await admin.post('/pipelines/{id}/actions', at({ id: custom.id }))
    const subject = await until('its subject is known', 20_000, async () => {
      const read = await admin.get('/actions/{id}/gates', at({ id: asked.id }))
      const { details } = read.gates.find(({ gate }) => gate === 'approval') ?? {}
      return details && 'subject' in details ? (details.subject as string) : undefined
    })
    const decided = { ...at({ id: asked.id }), body: { subject } }
    await admin.post(`/actions/{id}/${verb}`, decided)
    if (verb === 'approve') await admin.post('/actions/{id}/cancel', at({ id: asked.id }))
    await admin.wait(asked.id)
  }
  await admin.put('/environments/{id}', { ...frozen, body: { approval: null } })

  const retried = await admin.post('/actions/{id}/retry', at({ id }))
  assert.equal((await admin.wait(retried.id)).status, 'completed')
  const { length } = await admin.get('/actions', { params: { query: { 'filter[type]': 'deploy' } } })
  assert.equal(length, 2)
  await admin.get('/overview')
  const cards = await admin.get('/overview/applications', { params: { query: { page: 1 } } })
  assert.ok(cards.some(({ runs }) => runs.length === 2))
  return id
}
