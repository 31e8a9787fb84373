import assert from 'node:assert/strict'
import { test } from 'node:test'
import { summarizeChanges } from './build-context.ts'

const commit = { sha: 'b'.repeat(40), subject: 'Change', author_name: 'Zoë', committed_at: null }

function stored(fromCommit: string | null, total = 0) {
  const items = Array.from({ length: Math.min(total, 250) }, () => commit)
  const comparison = {
    commits: { total, items },
    removedCommits: { total: 0 },
    files: { total: 3 },
    rewritten: false,
  }
  return { fromCommit, toCommit: 'new', comparison: fromCommit === null ? null : comparison }
}

test('templates see at most 50 commits', () => {
  const changes = summarizeChanges(stored('old', 260))
  assert.equal(changes.from_sha, 'old')
  assert.equal(changes.commits_count, 260)
  assert.equal(changes.commits.length, 50)
})

test('templates see nothing of what is not known', () => {
  const unknown = {
    rewritten: null,
    commits_count: null,
    removed_commits_count: null,
    files_count: null,
    commits: [],
  }
  assert.deepEqual(summarizeChanges(undefined), { from_sha: null, to_sha: null, ...unknown })
  assert.deepEqual(summarizeChanges(stored(null)), { from_sha: null, to_sha: 'new', ...unknown })
})
