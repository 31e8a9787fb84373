// What the page of a run says about what it ships.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActionChanges, ReleaseComparison } from '#web/base/api/types.ts'
import { changesSummary, comparisonTitle, omitted } from '#web/pages/action/changes.ts'

const comparison: ReleaseComparison = {
  servers: [{ id: 1, name: 'web-1' }],
  state: 'compared',
  reason: null,
  reason_human_readable: null,
  from: { action_id: 1, release_name: '20261115080000-1a2b3c4d', commit_sha: '1a2b3c4d'.repeat(5) },
  to: { commit_sha: '5e6f7a8b'.repeat(5) },
  rewritten: false,
  commits: { total: 3, items: [] },
  removed_commits: { total: 0, items: [] },
  files: { total: 1, items: [] },
}

test('the title of a comparison names both commits and counts', () => {
  assert.equal(comparisonTitle(comparison), '1a2b3c4d → 5e6f7a8b: 3 commits, 1 file')
  const unknown = { ...comparison, from: null, to: { commit_sha: null }, commits: null, files: null }
  assert.equal(comparisonTitle(unknown), 'nothing → …')
})

test('the summary says why nothing is shown', () => {
  const changes: ActionChanges = {
    action_id: 1,
    state: 'compared',
    reason: null,
    reason_human_readable: null,
    comparisons: [comparison],
  }
  assert.equal(changesSummary(changes), null)
  assert.match(changesSummary({ ...changes, state: 'pending' })!, /once the source is fetched/)
  const first = { reason: 'first_release', reason_human_readable: 'Nothing was live.' } as const
  assert.equal(changesSummary({ ...changes, state: 'unavailable', ...first }), 'Nothing was live.')
  assert.equal(changesSummary({ ...changes, ...first, reason: 'not_a_deploy' }), null)
})

test('a list that was cut says how many are missing', () => {
  assert.equal(omitted({ total: 2, items: [1, 2] }), '')
  assert.equal(omitted({ total: 5, items: [1, 2] }), 'and 3 more')
})
