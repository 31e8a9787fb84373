import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Grant } from '#access/authorization/permissions.ts'
import { environmentsWhere } from './environment-scopes.ts'

const places = [
  { organization_id: 1, project_id: 1, environment_id: 1 },
  { organization_id: 1, project_id: 1, environment_id: 2 },
  { organization_id: 1, project_id: 2, environment_id: 3 },
  { organization_id: 2, project_id: 3, environment_id: 4 },
]

function environments(...grants: Partial<Grant>[]): number[] {
  const full = grants.map((grant): Grant => {
    const place = { organization_id: 1, project_id: null, environment_id: null }
    return { permissions: new Set(['action:view']), ...place, ...grant }
  })
  return environmentsWhere({ grants: full }, 'action:view', places).map((place) => place.environment_id)
}

test('a grant on an organization covers all its environments and no others', () => {
  assert.deepEqual(environments({}), [1, 2, 3])
})

test('a grant on a project covers the environments of that project', () => {
  assert.deepEqual(environments({ project_id: 1 }), [1, 2])
})

test('a grant on an environment covers only that one', () => {
  assert.deepEqual(environments({ project_id: 1, environment_id: 2 }), [2])
})

test('grants add up, and each environment counts once', () => {
  const both = environments({ project_id: 1 }, { project_id: 1, environment_id: 2 }, { organization_id: 2 })
  assert.deepEqual(both, [1, 2, 4])
})

test('a different permission covers nothing', () => {
  assert.deepEqual(environments({ permissions: new Set(['hook:view']) }), [])
})

test('no grants cover nothing', () => {
  assert.deepEqual(environments(), [])
})
