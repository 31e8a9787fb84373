import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HOST_CHECKS } from './list-checks.ts'

test('workflow runs of other commits do not count, whatever the host lists', () => {
  const [workflowRuns] = HOST_CHECKS.github.fallback!
  const [ours, other] = ['a'.repeat(40), 'b'.repeat(40)]
  const run = { id: 1, name: 'CI', status: 'completed', conclusion: 'success', head_sha: ours }
  assert.equal(workflowRuns!.read(run, ours)?.reported, 'success')
  assert.equal(workflowRuns!.read({ ...run, head_sha: other }, ours), null)
})
