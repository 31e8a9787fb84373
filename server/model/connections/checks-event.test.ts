import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readChecksEvent } from './checks-event.ts'

const sha = 'a'.repeat(40)

test('calls about checks name the repository and the commit', () => {
  const repository = { full_name: 'acme/shop' }
  const found = { repository: 'acme/shop', commit: sha }
  const cases: [Record<string, string>, object][] = [
    [{ 'x-github-event': 'check_suite' }, { repository, check_suite: { head_sha: sha } }],
    [{ 'x-github-event': 'status' }, { repository, sha }],
    [
      { 'x-gitea-event': 'status', 'x-gogs-event': 'status' },
      { repository, sha },
    ],
    [
      { 'x-gitlab-event': 'Pipeline Hook' },
      { project: { path_with_namespace: 'acme/shop' }, object_attributes: { sha } },
    ],
  ]
  for (const [headers, payload] of cases) assert.deepEqual(readChecksEvent(headers, payload), found)
})

test('other calls are not about checks, and a payload may be anything', () => {
  assert.equal(readChecksEvent({ 'x-github-event': 'push' }, { after: sha }), null)
  assert.equal(readChecksEvent({}, {}), null)
  assert.equal(readChecksEvent({ 'x-gitlab-event': ['Pipeline Hook', 'Push Hook'] }, {}), null)
  for (const payload of [null, 7, [], { sha: { a: 1 }, repository: 'x' }])
    assert.deepEqual(readChecksEvent({ 'x-github-event': 'status' }, payload), {
      repository: null,
      commit: null,
    })
})
