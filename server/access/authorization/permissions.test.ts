import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  BUILT_IN_ROLES,
  can,
  type Grant,
  PERMISSIONS,
  type Permission,
  ROLE_PERMISSIONS,
} from './permissions.ts'

const ORGANIZATION = { organization_id: 1 }
const PROJECT = { organization_id: 1, project_id: 2 }
const ENVIRONMENT = { organization_id: 1, project_id: 2, environment_id: 3 }

function granted(scope: { organization_id: number; project_id?: number; environment_id?: number }): {
  grants: Grant[]
} {
  const grant = { permissions: new Set(['hook:add']), project_id: null, environment_id: null, ...scope }
  return { grants: [grant] }
}

const mayAdd = (user: { grants: Grant[] }, where: Parameters<typeof can>[2]) => can(user, 'hook:add', where)

test('a user without grants may do nothing', () => {
  for (const permission of PERMISSIONS) assert.equal(can({ grants: [] }, permission, ENVIRONMENT), false)
})

test('a grant on an organization covers everything in it', () => {
  const user = granted(ORGANIZATION)
  for (const scope of [ORGANIZATION, PROJECT, ENVIRONMENT]) assert.equal(mayAdd(user, scope), true)
  assert.equal(mayAdd(user, { ...ENVIRONMENT, organization_id: 9 }), false)
})

test('a grant on a project covers its environments, not its organization or other projects', () => {
  const user = granted(PROJECT)
  assert.equal(mayAdd(user, PROJECT), true)
  assert.equal(mayAdd(user, ENVIRONMENT), true)
  assert.equal(mayAdd(user, ORGANIZATION), false)
  assert.equal(mayAdd(user, { ...ORGANIZATION, project_id: null }), false)
  assert.equal(mayAdd(user, { ...ENVIRONMENT, project_id: 9 }), false)
})

test('a grant on an environment covers nothing outside it', () => {
  const user = granted(ENVIRONMENT)
  assert.equal(mayAdd(user, ENVIRONMENT), true)
  for (const scope of [
    ORGANIZATION,
    PROJECT,
    { ...PROJECT, environment_id: null },
    { ...PROJECT, environment_id: 9 },
  ]) {
    assert.equal(mayAdd(user, scope), false)
  }
})

test('the same ids in another organization are another scope', () => {
  for (const scope of [PROJECT, ENVIRONMENT]) {
    assert.equal(mayAdd(granted({ ...scope, organization_id: 9 }), ENVIRONMENT), false)
  }
})

test('a grant gives its own permissions only', () => {
  const user = granted(ORGANIZATION)
  const given = PERMISSIONS.filter((permission) => can(user, permission, ENVIRONMENT))
  assert.deepEqual(given, ['hook:add'])
})

test('grants add up, each in its own scope', () => {
  const user: { grants: Grant[] } = {
    grants: [
      { permissions: ROLE_PERMISSIONS.viewer, organization_id: 1, project_id: null, environment_id: null },
      { permissions: ROLE_PERMISSIONS.developer, organization_id: 1, project_id: 2, environment_id: 3 },
    ],
  }
  assert.equal(can(user, 'pipeline:run', ENVIRONMENT), true)
  assert.equal(can(user, 'pipeline:run', { ...PROJECT, environment_id: 4 }), false)
  assert.equal(can(user, 'pipeline:view', { ...PROJECT, environment_id: 4 }), true)
})

test('each built-in role has everything that the next one has', () => {
  for (const [index, role] of BUILT_IN_ROLES.slice(1).entries()) {
    const above = ROLE_PERMISSIONS[BUILT_IN_ROLES[index]!]
    assert.ok(ROLE_PERMISSIONS[role].isSubsetOf(above), role)
    assert.ok(ROLE_PERMISSIONS[role].size < above.size, role)
  }
})

test('an owner may do everything, an admin everything but remove the organization', () => {
  assert.deepEqual([...ROLE_PERMISSIONS.owner], PERMISSIONS)
  assert.deepEqual([...ROLE_PERMISSIONS.owner.difference(ROLE_PERMISSIONS.admin)], ['organization:remove'])
})

test('a viewer only views', () => {
  assert.ok([...ROLE_PERMISSIONS.viewer].every((permission) => permission.endsWith(':view')))
})

test('a developer cannot change members, roles, secrets or the tree', () => {
  const resources = ['member', 'credential', 'organization', 'project', 'environment']
  const touching = [...ROLE_PERMISSIONS.developer].filter((permission: Permission) => {
    const [resource, verb] = permission.split(':')
    return resources.includes(resource!) && verb !== 'view'
  })
  assert.deepEqual(touching, [])
})
