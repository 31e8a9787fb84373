import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type PipelineDefinition, planRun } from './plan.ts'

const pipelineOf = (more: Partial<PipelineDefinition> = {}): PipelineDefinition => ({
  id: 1,
  environmentId: 2,
  operation: 'deploy',
  isArchived: false,
  queuePolicy: 'queue',
  maxParallelActions: 1,
  needsChecks: false,
  needsApproval: false,
  hasDependents: false,
  rollout: null,
  servers: serversOf(2),
  steps: [
    { id: 7, name: 'build', description: 'Build it' },
    { id: 8, name: 'ship', description: null },
  ],
  ...more,
})
function serversOf(count: number) {
  return Array.from({ length: count }, (_, index) => ({ id: index + 10, name: `web-${index + 1}` }))
}
const batchesOf = (servers: number, batch: number | string) => {
  const plan = planRun(pipelineOf({ servers: serversOf(servers), rollout: { batch, max_failed: 0 } }))
  assert.ok(plan.kind === 'plan')
  return plan.targets.map((target) => target.batch)
}

test('a run has a target per server with every step, in order, all pending', () => {
  const unbegun = { status: 'pending', reason: 'PENDING', started_at: null, completed_at: null }
  assert.deepEqual(planRun(pipelineOf()), {
    kind: 'plan',
    targets: [
      { position: 1, batch: 1, serverId: 10, serverName: 'web-1' },
      { position: 2, batch: 1, serverId: 11, serverName: 'web-2' },
    ],
    steps: [
      { order: 1, step_id: 7, name: 'build', description: 'Build it', ...unbegun },
      { order: 2, step_id: 8, name: 'ship', description: null, ...unbegun },
    ],
  })
})

test('a plan that cannot run says why', () => {
  const reasonOf = (more: Partial<PipelineDefinition>) => {
    const plan = planRun(pipelineOf(more))
    return plan.kind === 'impossible' ? plan.reason : plan.kind
  }
  assert.equal(reasonOf({ isArchived: true, servers: [] }), 'The environment of the pipeline is archived.')
  assert.equal(reasonOf({ servers: [], steps: [] }), 'The pipeline has no servers to run on.')
  assert.equal(reasonOf({ steps: [] }), 'The pipeline has no steps.')
})

test('a rollout has batches of a number of servers, or of a percentage of them', () => {
  assert.deepEqual(batchesOf(5, 2), [1, 1, 2, 2, 3])
  assert.deepEqual(batchesOf(5, 1), [1, 2, 3, 4, 5])
  assert.deepEqual(batchesOf(5, 9), [1, 1, 1, 1, 1])
  assert.deepEqual(batchesOf(4, '50%'), [1, 1, 2, 2])
  assert.deepEqual(batchesOf(5, '50%'), [1, 1, 1, 2, 2])
  assert.deepEqual(batchesOf(3, '1%'), [1, 2, 3])
  assert.deepEqual(batchesOf(3, '100%'), [1, 1, 1])
})

test('every server is in one batch, batches are in order, and none is larger than the first', () => {
  const batch = fc.oneof(
    fc.integer({ min: 1, max: 100 }),
    fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
  )
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 60 }), batch, (servers, size) => {
      const batches = batchesOf(servers, size)
      const counts = Map.groupBy(batches, (number) => number)
      assert.deepEqual(
        [...counts.keys()],
        Array.from({ length: counts.size }, (_, index) => index + 1),
      )
      for (const members of counts.values()) assert.ok(members.length <= counts.get(1)!.length)
      assert.equal(batches.length, servers)
    }),
  )
})
