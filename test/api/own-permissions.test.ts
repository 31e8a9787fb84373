// What a signed-in user may do and where, as pages need to know it.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { OwnPermissions } from '#access/accounts/own-permissions.ts'
import { PERMISSIONS, ROLE_PERMISSIONS } from '#access/authorization/permissions.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

async function permissionsOf(token: string): Promise<OwnPermissions[]> {
  const answer = await request('GET', '/users/me/permissions', { token })
  assert.equal(answer.status, 200, answer.text)
  return answer.body
}

test('every scope with grants is listed once, wider ones first, with all that its roles allow', async () => {
  const { organizationId, projectId, environmentId, owner } = await createTestTree(db)
  const answer = await request('POST', `/organizations/${organizationId}/roles`, {
    token: owner.token,
    body: { name: 'Releases', permissions: ['pipeline:run', 'member:view'] },
  })
  const person = await createPerson(db)
  await grantRole(db, person.id, 'viewer', { organizationId, projectId, environmentId })
  const custom = { user_id: person.id, role_id: answer.body.id, organization_id: organizationId }
  await db
    .insertInto('grants')
    .values({ ...custom, project_id: projectId, environment_id: environmentId })
    .execute()
  await db.insertInto('grants').values(custom).execute()
  const environment = PERMISSIONS.filter(
    (permission) => ROLE_PERMISSIONS.viewer.has(permission) || permission === 'pipeline:run',
  )
  assert.deepEqual(await permissionsOf(person.token), [
    {
      organization_id: organizationId,
      project_id: null,
      environment_id: null,
      permissions: ['pipeline:run', 'member:view'],
    },
    {
      organization_id: organizationId,
      project_id: projectId,
      environment_id: environmentId,
      permissions: environment,
    },
  ])
  assert.deepEqual((await permissionsOf(owner.token))[0]!.permissions, PERMISSIONS)
})

test('an instance administrator has no permissions in organizations, and learns from the session what they are', async () => {
  const [admin, person] = [await createPerson(db, { admin: true }), await createPerson(db)]
  assert.deepEqual(await permissionsOf(admin.token), [])
  for (const [{ token }, expected] of [
    [admin, true],
    [person, false],
  ] as const) {
    assert.equal((await request('GET', '/session', { token })).body.is_instance_admin, expected)
  }
})

test('a lost role is gone from the next answer', async () => {
  const { organizationId } = await createTestTree(db)
  const person = await createPerson(db)
  await grantRole(db, person.id, 'viewer', { organizationId })
  assert.equal((await permissionsOf(person.token)).length, 1)
  await db.deleteFrom('grants').where('user_id', '=', person.id).execute()
  assert.deepEqual(await permissionsOf(person.token), [])
})
