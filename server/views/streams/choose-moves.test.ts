import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ActionFilters } from '#model/actions/filters.ts'
import { isAskedFor, wantedEnvironments } from './choose-moves.ts'
import type { ActionMove } from './read-moves.ts'

const MOVE: ActionMove = {
  id: 1,
  action_id: 2,
  previous_status: 'queued',
  status: 'in-progress',
  status_reason_code: 'IN_PROGRESS',
  occurred_at: '2026-11-15T08:00:00.000Z',
  environment_id: 3,
  pipeline_id: 4,
  type: 'deploy',
  trigger_type: 'hook',
  hook_id: '01890000-0000-7000-8000-000000000000',
  created_at: '2026-11-15T07:00:00.000Z',
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
  created_after: '2026-11-15T07:00:00.001Z',
  created_before: '2026-11-15T07:00:00.000Z',
}

test('without filters every move is asked for', () => {
  assert.equal(isAskedFor({}, MOVE), true)
})

test('all filters must hold', () => {
  assert.equal(isAskedFor(MATCHING, MOVE), true)
  for (const [name, value] of Object.entries(OTHERS)) {
    assert.equal(isAskedFor({ ...MATCHING, [name]: value }, MOVE), false, name)
    assert.equal(isAskedFor({ [name]: value }, MOVE), false, name)
  }
})

test('a status is meant where a move goes and where it comes from', () => {
  assert.equal(isAskedFor({ status: ['queued'] }, MOVE), true)
  assert.equal(isAskedFor({ status: ['queued'] }, { ...MOVE, previous_status: null }), false)
})

test('a run that no hook started is not one of a hook', () => {
  assert.equal(isAskedFor({ hook_id: [MOVE.hook_id!] }, { ...MOVE, hook_id: null }), false)
})

test('of the environments that one sees, those that are asked for', () => {
  const visible = [
    { organization_id: 1, project_id: 2, environment_id: 3 },
    { organization_id: 1, project_id: 4, environment_id: 5 },
    { organization_id: 6, project_id: 7, environment_id: 8 },
  ]
  const wanted = (filters: ActionFilters) => [...wantedEnvironments(filters, visible)]
  assert.deepEqual(wanted({}), [3, 5, 8])
  assert.deepEqual(wanted({ organization_id: [1] }), [3, 5])
  assert.deepEqual(wanted({ organization_id: [1], project_id: [4, 7] }), [5])
  assert.deepEqual(wanted({ environment_id: [3, 99] }), [3])
})
