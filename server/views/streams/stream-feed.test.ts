import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActionFilters } from '#model/actions/filters.ts'
import type { ActionMove } from './read-feed.ts'
import { matchesFilters } from './stream-feed.ts'

const MOVE: ActionMove = {
  id: 1,
  action_id: 2,
  previous_status: 'queued',
  status: 'in-progress',
  status_reason_code: 'IN_PROGRESS',
  occurred_at: '2026-11-15T08:00:00.000Z',
  gate_event: null,
  environment_id: 3,
  pipeline_id: 4,
  type: 'deploy',
  trigger_type: 'hook',
  hook_id: '01890000-0000-7000-8000-000000000000',
  created_at: '2026-11-15T07:00:00.000Z',
  user_id: 6,
  resource_type: 'application',
  resource_id: 5,
}

const MATCHING: ActionFilters = {
  pipeline_id: [9, 4],
  resource_type: ['application'],
  resource_id: [5],
  status: ['in-progress'],
  type: ['deploy'],
  trigger_type: ['hook'],
  hook_id: [MOVE.hook_id!],
  user_id: [6],
  created_after: '2026-11-15T07:00:00.000Z',
  created_before: '2026-11-15T07:00:00.001Z',
}

const OTHERS: ActionFilters = {
  pipeline_id: [9],
  resource_type: ['server'],
  resource_id: [4],
  status: ['failed'],
  type: [],
  trigger_type: ['manual'],
  hook_id: ['01890000-0000-7000-8000-000000000001'],
  user_id: [5],
  created_after: '2026-11-15T07:00:00.001Z',
  created_before: '2026-11-15T07:00:00.000Z',
}

test('without filters every move matches', () => {
  assert.equal(matchesFilters({}, MOVE), true)
})

test('all filters must match', () => {
  assert.equal(matchesFilters(MATCHING, MOVE), true)
  for (const [name, value] of Object.entries(OTHERS)) {
    assert.equal(matchesFilters({ ...MATCHING, [name]: value }, MOVE), false, name)
    assert.equal(matchesFilters({ [name]: value }, MOVE), false, name)
  }
})

test('a status matches the move that reaches it and the move that leaves it', () => {
  assert.equal(matchesFilters({ status: ['queued'] }, MOVE), true)
  assert.equal(matchesFilters({ status: ['queued'] }, { ...MOVE, previous_status: null }), false)
})

test('a run that nobody started matches no user', () => {
  assert.equal(matchesFilters({ user_id: [6] }, { ...MOVE, user_id: null }), false)
})

test('a run that no hook triggered matches no hook', () => {
  assert.equal(matchesFilters({ hook_id: [MOVE.hook_id!] }, { ...MOVE, hook_id: null }), false)
})
