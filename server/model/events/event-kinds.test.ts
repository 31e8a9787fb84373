import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Status } from '#platform/database/tables.ts'
import { eventKinds, matchingKind } from './event-kinds.ts'

const STATUSES: Status[] = ['pending', 'waiting', 'queued', 'in-progress', 'completed', 'failed', 'skipped']

test('a creation and a changed status are events; a changed reason alone is not', () => {
  assert.deepEqual(eventKinds(null, 'queued'), ['action.created', 'action.queued'])
  assert.deepEqual(eventKinds(null, 'pending'), ['action.created'])
  assert.deepEqual(eventKinds('queued', 'in-progress'), ['action.status_changed', 'action.started'])
  assert.deepEqual(eventKinds('queued', 'waiting'), ['action.status_changed'])
  assert.deepEqual(eventKinds('in-progress', 'completed'), ['action.status_changed', 'action.completed'])
  assert.deepEqual(eventKinds('in-progress', 'failed'), ['action.status_changed', 'action.failed'])
  assert.deepEqual(eventKinds('waiting', 'skipped'), ['action.status_changed', 'action.skipped'])
  for (const status of STATUSES) assert.deepEqual(eventKinds(status, status), [])
})

test('an event is reported as the most specific kind that its hook is subscribed to', () => {
  const kinds = eventKinds('in-progress', 'completed')
  assert.equal(matchingKind(kinds, ['action.status_changed']), 'action.status_changed')
  assert.equal(matchingKind(kinds, ['action.completed', 'action.status_changed']), 'action.completed')
  assert.equal(matchingKind(kinds, ['action.failed']), undefined)
})
