// Members of an organization, their grants, and custom roles.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, grantRole, type Person } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db, request } = api
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createMember(db, tree, 'admin')
const viewer = await createMember(db, tree, 'viewer')
const elsewhere = await createTestTree(db)

let counter = 0
const invitations = `/organizations/${tree.organizationId}/invitations`
const memberPath = (userId: number) => `/organizations/${tree.organizationId}/members/${userId}`
const put = (userId: number, grants: object[], as = token, headers = {}) =>
  request('PUT', memberPath(userId), { token: as, body: { grants }, headers })
const remove = (userId: number, as = token) => request('DELETE', memberPath(userId), { token: as })

async function addRole(permissions: string[], as = token): Promise<number> {
  const name = `Role ${++counter}`
  const answer = await request('POST', `/organizations/${tree.organizationId}/roles`, {
    token: as,
    body: { name, permissions },
  })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id
}

/** Somebody with a custom role on the whole organization. */
async function createHolder(permissions: string[]): Promise<Person> {
  const person = await createPerson(db)
  const role_id = await addRole(permissions)
  await db
    .insertInto('grants')
    .values({ user_id: person.id, role_id, organization_id: tree.organizationId })
    .execute()
  return person
}

suite('nobody grants permissions that they do not have', () => {
  test('an admin can neither remove nor change an owner', async () => {
    assert.equal((await remove(tree.owner.id, admin.token)).status, 403)
    assert.equal((await put(tree.owner.id, [{ role: 'viewer' }], admin.token)).status, 403)
  })

  test('a role cannot be created or changed to contain more than the caller has', async () => {
    const person = await createHolder([
      'organization:view',
      'member:view',
      'member:add',
      'member:edit',
      'hook:view',
    ])
    const roles = `/organizations/${tree.organizationId}/roles`
    const body = { name: 'Too much', permissions: ['hook:view', 'hook:edit'] }
    const made = await request('POST', roles, { token: person.token, body })
    assert.equal(made.status, 403)
    assert.match(made.body.message, /you lack hook:edit there/)
    const id = await addRole(['hook:view'], person.token)
    const changed = await request('PUT', `/roles/${id}`, {
      token: person.token,
      body: { permissions: body.permissions },
    })
    assert.equal(changed.status, 403)
  })
})

suite('changing a member', () => {
  test('replaces all grants', async () => {
    const person = await createMember(db, tree, 'developer')
    const { status, body, headers } = await put(person.id, [
      { role: 'viewer' },
      { role: 'viewer' },
      { role: 'developer', project_id: tree.projectId },
    ])
    assert.equal(status, 200)
    assert.deepEqual(
      body.grants.map((grant: { role: string; project_id: number | null }) => [grant.role, grant.project_id]),
      [
        ['viewer', null],
        ['developer', tree.projectId],
      ],
    )
    const etag = headers.etag!
    assert.equal((await put(person.id, [{ role: 'viewer' }], token, { 'if-match': etag })).status, 200)
    assert.equal((await put(person.id, [{ role: 'viewer' }], token, { 'if-match': etag })).status, 412)
    assert.equal((await put(person.id, [])).status, 422)
  })

  test('who is not a member is 404', async () => {
    const person = await createPerson(db)
    for (const answer of [
      await put(person.id, [{ role: 'viewer' }]),
      await remove(person.id),
      await request('GET', memberPath(person.id), { token }),
    ])
      assert.equal(answer.status, 404)
  })

  test('requires the permission', async () => {
    assert.equal((await put(admin.id, [{ role: 'viewer' }], viewer.token)).status, 403)
    assert.equal((await remove(admin.id, viewer.token)).status, 403)
    assert.equal(
      (
        await request('GET', `/organizations/${tree.organizationId}/members`, {
          token: elsewhere.owner.token,
        })
      ).status,
      404,
    )
  })
})

suite('the last owner', () => {
  test('can neither be removed nor demoted, not even by themselves', async () => {
    assert.equal((await remove(tree.owner.id)).status, 409)
    assert.equal((await put(tree.owner.id, [{ role: 'admin' }])).status, 409)
    assert.equal((await put(tree.owner.id, [{ role: 'owner', project_id: tree.projectId }])).status, 409)
    const invitation = { email: 'nobody-yet@example.com', role: 'owner' }
    assert.equal((await request('POST', invitations, { token, body: invitation })).status, 201)
    assert.equal((await remove(tree.owner.id)).status, 409, 'somebody who has not joined yet does not count')
  })

  test('can leave once there is another, who becomes the owner of record', async () => {
    const other = await createTestTree(db)
    const second = await createMember(db, other, 'owner')
    const path = `/organizations/${other.organizationId}`
    const left = await request('DELETE', `${path}/members/${other.owner.id}`, { token: other.owner.token })
    assert.equal(left.status, 204)
    const { body } = await request('GET', path, { token: second.token })
    assert.equal(body.owner.id, second.id)
    assert.equal((await request('GET', path, { token: other.owner.token })).status, 404)
  })

  test('remains when two owners remove each other at the same time', async () => {
    const other = await createTestTree(db)
    const second = await createMember(db, other, 'owner')
    const path = `/organizations/${other.organizationId}/members`
    const answers = await Promise.all([
      request('DELETE', `${path}/${second.id}`, { token: other.owner.token }),
      request('DELETE', `${path}/${other.owner.id}`, { token: second.token }),
    ])
    assert.equal(answers.filter(({ status }) => status === 204).length, 1)
  })
})

suite('the list of members', () => {
  test('has everybody once, newest first, and can be filtered by name or email', async () => {
    const other = await createTestTree(db)
    const path = `/organizations/${other.organizationId}/members`
    const second = await createMember(db, other, 'viewer')
    const { organizationId, projectId } = other
    await grantRole(db, second.id, 'developer', { organizationId, projectId })
    const { body, headers } = await request('GET', path, { token: second.token })
    assert.deepEqual(
      body.map((member: { user_id: number; grants: object[] }) => [member.user_id, member.grants.length]),
      [
        [second.id, 2],
        [other.owner.id, 1],
      ],
    )
    assert.equal(headers['x-total-count'], '2')
    const name = second.email.split('@')[0]!.toUpperCase()
    const found = await request('GET', `${path}?filter[name]=${name}&per_page=1`, { token: second.token })
    assert.deepEqual(
      found.body.map((member: { user_id: number }) => member.user_id),
      [second.id],
    )
  })
})

suite('a custom role', () => {
  const roles = `/organizations/${tree.organizationId}/roles`

  test('is created, granted, changed for everybody at once, and removed when nobody has it', async (t) => {
    const beside = await openTestApp(t, { beside: api })
    const id = await addRole(['project:view'])
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', { organizationId: tree.organizationId })
    const added = await put(person.id, [{ role_id: id }])
    assert.equal(added.body.grants[0].role, null)
    assert.match(added.body.grants[0].role_name, /^Role \d+$/)
    const read = (what: string) => beside.request('GET', what, { token: person.token })
    const environment = `/environments/${tree.environmentId}`
    assert.equal((await read(`/projects/${tree.projectId}`)).status, 200)
    assert.equal((await read(environment)).status, 404)
    const changed = await request('PUT', `/roles/${id}`, {
      token,
      body: { permissions: ['environment:view'] },
    })
    assert.equal(changed.status, 200)
    assert.deepEqual(changed.body.permissions, ['environment:view'])
    assert.equal((await read(environment)).status, 200)
    assert.equal((await read(`/projects/${tree.projectId}`)).status, 404)
    const inUse = await request('DELETE', `/roles/${id}`, { token })
    assert.deepEqual([inUse.status, inUse.body.errors], [409, { members: ['1 member has it'] }])
    await remove(person.id)
    assert.equal((await request('DELETE', `/roles/${id}`, { token })).status, 204)
    assert.equal((await request('GET', `/roles/${id}`, { token })).status, 404)
  })

  test('has a unique name and known permissions', async () => {
    const make = (body: object) => request('POST', roles, { token, body })
    assert.equal((await make({ name: 'Twice', permissions: [] })).status, 201)
    assert.equal((await make({ name: 'Twice', permissions: [] })).status, 422)
    assert.equal((await make({ name: 'Owner', permissions: [] })).status, 422)
    const { status, body } = await make({ name: '', permissions: ['hook:view', 'hook:fly'], extra: 1 })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors).sort(), ['extra', 'name', 'permissions.1'])
  })

  test('is not changed by a caller with an outdated version', async () => {
    const id = await addRole(['hook:view'])
    const { headers } = await request('GET', `/roles/${id}`, { token: viewer.token })
    const rename = (name: string) =>
      request('PUT', `/roles/${id}`, { token, body: { name }, headers: { 'if-match': headers.etag! } })
    assert.equal((await rename('Renamed once')).status, 200)
    assert.equal((await rename('Renamed twice')).status, 412)
  })

  test('is invisible to other organizations', async () => {
    const id = await addRole(['hook:view'])
    const as = { token: elsewhere.owner.token }
    assert.equal((await request('GET', `/roles/${id}`, as)).status, 404)
    assert.equal((await request('PUT', `/roles/${id}`, { ...as, body: {} })).status, 404)
    assert.equal((await request('DELETE', `/roles/${id}`, as)).status, 404)
    assert.equal((await request('DELETE', `/roles/${id}`, { token: viewer.token })).status, 403)
    const listed = await request('GET', `${roles}?filter[name]=role`, { token: viewer.token })
    assert.ok(listed.body.some((role: { id: number }) => role.id === id))
  })
})
