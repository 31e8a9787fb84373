// Members of an organization, their grants, and custom roles.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { openTestApp, TEST_BASE_URL } from '#test/support/harness.ts'
import {
  addEnvironment,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db, request } = api
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createMember(db, tree, 'admin')
const viewer = await createMember(db, tree, 'viewer')
const elsewhere = await createTestTree(db)

let counter = 0
const newEmail = () => `invited${++counter}@example.com`
const membersOf = (organizationId = tree.organizationId) => `/organizations/${organizationId}/members`
const memberPath = (userId: number) => `${membersOf()}/${userId}`
const add = (body: object, as = token, organizationId = tree.organizationId) =>
  request('POST', membersOf(organizationId), { token: as, body })
const put = (userId: number, grants: object[], as = token, headers = {}) =>
  request('PUT', memberPath(userId), { token: as, body: { grants }, headers })
const remove = (userId: number, as = token) => request('DELETE', memberPath(userId), { token: as })
const accept = (link: string, more: object = {}) =>
  request('POST', '/users/accept-invitation', {
    body: { token: link.split('/').at(-1), password: 'correct horse', ...more },
  })

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

suite('adding a member', () => {
  test('who has an account grants the role at once, in every process, without a link', async (t) => {
    const beside = await openTestApp(t, { beside: api })
    const person = await createPerson(db)
    const read = () => beside.request('GET', `/projects/${tree.projectId}`, { token: person.token })
    assert.equal((await read()).status, 404)
    const { status, body } = await add({ email: person.email.toUpperCase(), role: 'viewer' })
    assert.equal(status, 201)
    assert.deepEqual([body.user.id, body.has_joined, body.invitation_url], [person.id, true, null])
    assert.equal((await read()).status, 200)
    assert.equal((await add({ email: person.email, role: 'viewer' })).status, 409)
    assert.equal((await remove(person.id)).status, 204)
    assert.equal((await read()).status, 404)
  })

  test('who has no account creates one, and a link that works once', async () => {
    const email = newEmail()
    const { status, body } = await add({ email, name: 'Ada', role: 'developer' })
    assert.equal(status, 201)
    assert.deepEqual([body.user.email, body.user.name, body.has_joined], [email, 'Ada', false])
    assert.ok(body.invitation_url.startsWith(`${TEST_BASE_URL}/app/invitation/gty_in_`))
    const days = (Date.parse(body.invitation_expires_at) - Date.now()) / 86_400_000
    assert.ok(days > 6.9 && days < 7.1, String(days))
    const read = await request('GET', memberPath(body.user_id), { token })
    assert.deepEqual(read.body, { ...body, invitation_url: null })

    const login = (password: string) => request('POST', '/users/login', { body: { email, password } })
    assert.equal((await login('correct horse')).status, 401)
    assert.equal((await accept(body.invitation_url, { password: 'short' })).status, 422)
    const accepted = await accept(body.invitation_url, { name: 'Ada L.' })
    assert.equal(accepted.status, 200, accepted.text)
    const me = await request('GET', '/users/me', { token: accepted.body.access_token })
    assert.deepEqual([me.body.id, me.body.name], [body.user_id, 'Ada L.'])
    assert.equal((await login('correct horse')).status, 200)
    const again = await accept(body.invitation_url, { password: 'another one' })
    assert.deepEqual([again.status, Object.keys(again.body.errors)], [422, ['token']])
    assert.equal((await request('GET', memberPath(body.user_id), { token })).body.has_joined, true)
    assert.equal(
      (await request('POST', `${memberPath(body.user_id)}/invitation`, { token })).status,
      409,
      'they have joined already',
    )
  })

  test('stores no link that could be read from the database', async () => {
    const { body } = await add({ email: newEmail(), role: 'viewer' })
    const link: string = body.invitation_url.split('/').at(-1)
    const { rows } = await sql<{ text: string }>`
      select (select string_agg(i::text, '') from invitations i) || (select string_agg(e::text, '') from audit_entries e)
        as text`.execute(db)
    assert.ok(!rows[0]!.text.includes(link))
  })

  test('whose link is used twice at the same time logs in one of the two', async () => {
    const { body } = await add({ email: newEmail(), role: 'viewer' })
    const answers = await Promise.all([1, 2, 3].map(() => accept(body.invitation_url)))
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 422, 422])
  })

  test('whose link has expired or was replaced does not log in', async () => {
    const { body } = await add({ email: newEmail(), role: 'viewer' })
    const again = await request('POST', `${memberPath(body.user_id)}/invitation`, { token })
    assert.equal(again.status, 201)
    assert.equal((await accept(body.invitation_url)).status, 422)
    await db
      .updateTable('invitations')
      .set({ expires_at: sql<string>`now() - interval '1 second'` })
      .where('user_id', '=', body.user_id)
      .execute()
    assert.equal((await accept(again.body.invitation_url)).status, 422)
  })

  test('on one environment grants nothing outside of it', async () => {
    const other = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
    const person = await createPerson(db)
    const { body } = await add({
      email: person.email,
      role: 'developer',
      environment_id: tree.environmentId,
    })
    const [grant] = body.grants
    assert.deepEqual([grant.project_id, grant.environment_id], [tree.projectId, tree.environmentId])
    const see = async (id: number) =>
      (await request('GET', `/environments/${id}`, { token: person.token })).status
    assert.deepEqual([await see(tree.environmentId), await see(other.environmentId)], [200, 404])
  })

  test('with a scope or a role of another organization is 404, and names the field', async () => {
    const foreignRole = await db
      .insertInto('roles')
      .values({ organization_id: elsewhere.organizationId, name: 'Theirs', permissions: ['hook:view'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    const other = await createTestTree(db)
    for (const [field, input] of [
      ['project_id', { role: 'viewer', project_id: elsewhere.projectId }],
      ['environment_id', { role: 'viewer', environment_id: elsewhere.environmentId }],
      ['environment_id', { role: 'viewer', project_id: tree.projectId, environment_id: other.environmentId }],
      ['role_id', { role_id: foreignRole.id }],
      ['role_id', { role_id: 999_999 }],
    ] as const) {
      const { status, body } = await add({ email: newEmail(), ...input })
      assert.deepEqual([status, Object.keys(body.errors)], [404, [field]], JSON.stringify(input))
    }
    const { body } = await put(viewer.id, [{ role: 'viewer' }, { role_id: foreignRole.id }])
    assert.deepEqual(Object.keys(body.errors), ['grants.1.role_id'])
  })

  test('requires exactly one role, and an email address', async () => {
    for (const [field, body] of [
      ['role', { email: newEmail() }],
      ['role', { email: newEmail(), role: 'viewer', role_id: 1 }],
      ['email', { email: 'nobody', role: 'viewer' }],
      ['role', { email: newEmail(), role: 'king' }],
    ] as const) {
      const answer = await add(body)
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, [field]])
    }
  })

  test('from two organizations at the same time creates one account', async () => {
    const email = newEmail()
    const answers = await Promise.all([
      add({ email, role: 'viewer' }),
      add({ email, role: 'viewer' }, elsewhere.owner.token, elsewhere.organizationId),
    ])
    assert.deepEqual(answers.map(({ status }) => status).sort(), [201, 409])
  })

  test('with a pending invitation to another organization works once they have joined there', async () => {
    const email = newEmail()
    const first = await add({ email, role: 'viewer' }, elsewhere.owner.token, elsewhere.organizationId)
    assert.equal((await add({ email, role: 'owner' })).status, 409)
    await accept(first.body.invitation_url)
    const { status, body } = await add({ email, role: 'viewer' })
    assert.deepEqual([status, body.user_id], [201, first.body.user_id])
  })
})

suite('nobody grants permissions that they do not have', () => {
  test('an admin cannot add an owner, and the error lists the missing permissions', async () => {
    const { status, body } = await add({ email: newEmail(), role: 'owner' }, admin.token)
    assert.equal(status, 403)
    assert.match(body.message, /you lack organization:remove there/)
    const left = await db
      .selectFrom('users')
      .select('id')
      .where('email', '=', `invited${counter}@example.com`)
    assert.deepEqual(await left.execute(), [], 'no account either')
  })

  test('permissions on one project can be granted on that project only', async () => {
    const person = await createHolder(['organization:view', 'member:add', 'member:view', 'project:view'])
    const { organizationId, projectId } = tree
    await grantRole(db, person.id, 'developer', { organizationId, projectId })
    const email = newEmail()
    assert.equal((await add({ email, role: 'viewer' }, person.token)).status, 403)
    assert.equal((await add({ email, role: 'viewer', project_id: projectId }, person.token)).status, 201)
  })

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

  test('a link stops working when its inviter could not have granted what the account has now', async () => {
    const email = newEmail()
    const invited = await add({ email, role: 'viewer' }, admin.token)
    assert.equal((await put(invited.body.user_id, [{ role: 'owner' }])).status, 200)
    assert.equal((await accept(invited.body.invitation_url)).status, 422)
    const path = `${memberPath(invited.body.user_id)}/invitation`
    assert.equal((await request('POST', path, { token: admin.token })).status, 403)
    assert.equal((await add({ email, role: 'viewer' }, admin.token)).status, 403)
    const again = await request('POST', path, { token })
    assert.equal((await accept(again.body.invitation_url)).status, 200)
    assert.equal((await remove(invited.body.user_id)).status, 204)
  })

  test('a revoked permission is not granted by a request that was already in flight', async () => {
    const helper = await createMember(db, tree, 'admin')
    const person = await createPerson(db)
    // Locks the organization as another change would: the request below passes its first check and waits.
    const blocked = Promise.withResolvers<void>()
    const other = db.transaction().execute(async (trx) => {
      await sql`select id from organizations where id = ${tree.organizationId} for no key update`.execute(trx)
      const waiting = add({ email: person.email, role: 'admin' }, helper.token)
      await untilLockIsAwaited()
      await trx.deleteFrom('grants').where('user_id', '=', helper.id).execute()
      blocked.resolve()
      return { waiting }
    })
    await blocked.promise
    const { waiting } = await other
    assert.equal((await waiting).status, 403)
  })

  async function untilLockIsAwaited(): Promise<void> {
    const deadline = Date.now() + 20_000
    while (Date.now() < deadline) {
      const { rows } = await sql<{ n: number }>`
        select count(*) as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
      if (rows[0]!.n > 0) return
    }
    assert.fail('nothing waits for a lock')
  }
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
      await request('POST', `${memberPath(person.id)}/invitation`, { token }),
    ])
      assert.equal(answer.status, 404)
  })

  test('requires the permission', async () => {
    assert.equal((await add({ email: newEmail(), role: 'viewer' }, viewer.token)).status, 403)
    assert.equal((await put(admin.id, [{ role: 'viewer' }], viewer.token)).status, 403)
    assert.equal((await remove(admin.id, viewer.token)).status, 403)
    assert.equal((await request('GET', membersOf(), { token: elsewhere.owner.token })).status, 404)
  })
})

suite('the last owner', () => {
  test('can neither be removed nor demoted, not even by themselves', async () => {
    assert.equal((await remove(tree.owner.id)).status, 409)
    assert.equal((await put(tree.owner.id, [{ role: 'admin' }])).status, 409)
    assert.equal((await put(tree.owner.id, [{ role: 'owner', project_id: tree.projectId }])).status, 409)
    const invited = await add({ email: newEmail(), role: 'owner' })
    assert.equal((await remove(tree.owner.id)).status, 409, 'somebody who has not joined yet does not count')
    assert.equal((await remove(invited.body.user_id)).status, 204)
    const left = await db.selectFrom('users').select('id').where('id', '=', invited.body.user_id).execute()
    assert.deepEqual(left, [], 'an account that was never used is deleted')
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
    const added = await add({ email: person.email, role_id: id })
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
