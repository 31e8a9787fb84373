import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { openTestApp } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
} from '#test/support/world.ts'

const { db, request } = await openTestApp({ after })

/** Two environments in one project, one in another project of the same organization, one elsewhere. */
async function createWorld() {
  const tree = await createTestTree(db)
  const { organizationId, projectId, credentialId, owner } = tree
  const { id: otherProjectId } = await db
    .insertInto('projects')
    .values({ organization_id: organizationId, name: 'Other', created_by: owner.id })
    .returning('id')
    .executeTakeFirstOrThrow()
  const second = await addEnvironment(db, owner.id, projectId, credentialId)
  const third = await addEnvironment(db, owner.id, otherProjectId, credentialId)
  const elsewhere = await createTestTree(db)
  const use = { credential_id: credentialId }
  return {
    tree,
    elsewhere,
    second,
    organizationId,
    projectId,
    inFirst: await createAction(db, tree, use),
    inSecond: await createAction(db, second, use),
    inThird: await createAction(db, third, use),
    far: await createAction(db, elsewhere),
  }
}

async function seenBy({ token }: Person, query = ''): Promise<number[]> {
  const { status, body, text } = await request('GET', `/actions?per_page=100${query}`, { token })
  assert.equal(status, 200, text)
  return body.map((one: { id: number }) => one.id)
}

const world = await createWorld()
const { inFirst, inSecond, inThird, far, organizationId, projectId } = world
const environmentId = world.tree.environmentId

test('a user without grants sees no actions', async () => {
  const answer = await request('GET', '/actions', { token: (await createPerson(db)).token })
  assert.deepEqual([answer.status, answer.body, answer.headers['x-total-count']], [200, [], '0'])
})

test('an instance administrator without grants sees none either', async () => {
  assert.deepEqual(await seenBy(await createPerson(db, { admin: true })), [])
})

test('a grant on the organization shows its actions, newest first, and none of another organization', async () => {
  assert.deepEqual(await seenBy(await createMember(db, world.tree, 'viewer')), [inThird, inSecond, inFirst])
})

test('a grant on a project shows only the actions of that project', async () => {
  const person = await createPerson(db)
  await grantRole(db, person.id, 'viewer', { organizationId, projectId })
  assert.deepEqual(await seenBy(person), [inSecond, inFirst])
})

test('a grant on an environment shows only the actions of that environment', async () => {
  const person = await createPerson(db)
  await grantRole(db, person.id, 'viewer', { organizationId, projectId, environmentId })
  assert.deepEqual(await seenBy(person), [inFirst])
  const single = (id: number) => request('GET', `/actions/${id}`, { token: person.token })
  assert.deepEqual(
    await Promise.all([inFirst, inSecond, inThird, far].map(async (id) => (await single(id)).status)),
    [200, 404, 404, 404],
  )
})

test('grants in two organizations add up', async () => {
  const person = await createMember(db, world.elsewhere, 'viewer')
  await grantRole(db, person.id, 'viewer', { organizationId, projectId, environmentId })
  assert.deepEqual(await seenBy(person), [far, inFirst])
})

test('filters never select actions that the caller may not see', async () => {
  const person = await createPerson(db)
  await grantRole(db, person.id, 'viewer', { organizationId, projectId })
  assert.deepEqual(await seenBy(person, `&filter[organization_id]=${organizationId}`), [inSecond, inFirst])
  assert.deepEqual(await seenBy(person, `&filter[environment_id]=${world.second.environmentId}`), [inSecond])
  for (const filter of [
    `organization_id]=${world.elsewhere.organizationId}`,
    `project_id]=${world.elsewhere.projectId}`,
    `environment_id]=${world.elsewhere.environmentId}`,
    `pipeline_id]=${world.elsewhere.pipelineId}`,
    `resource_id]=${world.elsewhere.applicationId}`,
    'organization_id]=999999',
  ]) {
    assert.deepEqual(await seenBy(person, `&filter[${filter}`), [], filter)
  }
})

describe('a custom role', () => {
  async function createRole(permissions: string[]): Promise<Person & { roleId: number }> {
    const person = await createPerson(db)
    const { id: roleId } = await db
      .insertInto('roles')
      .values({ organization_id: organizationId, name: `Role of ${person.email}`.slice(0, 60), permissions })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: roleId, organization_id: organizationId })
      .execute()
    return { ...person, roleId }
  }

  test('with action:view shows actions', async () => {
    assert.deepEqual(await seenBy(await createRole(['action:view'])), [inThird, inSecond, inFirst])
  })

  test('with everything else shows none', async () => {
    const permissions = ['organization:view', 'environment:view', 'pipeline:run', 'hook:view', 'action:run']
    assert.deepEqual(await seenBy(await createRole(permissions)), [])
  })

  test('that loses action:view takes effect with the next request', async () => {
    const person = await createRole(['action:view'])
    assert.equal((await seenBy(person)).length, 3)
    await db
      .updateTable('roles')
      .set({ permissions: ['hook:view'] })
      .where('id', '=', person.roleId)
      .execute()
    assert.deepEqual(await seenBy(person), [])
    assert.equal((await request('GET', `/actions/${inFirst}`, { token: person.token })).status, 404)
  })
})

test('a revoked grant takes effect with the next request', async () => {
  const person = await createMember(db, world.tree, 'admin')
  assert.equal((await seenBy(person)).length, 3)
  await db.deleteFrom('grants').where('user_id', '=', person.id).execute()
  assert.deepEqual(await seenBy(person), [])
})

test('a new grant takes effect with the next request', async () => {
  const person = await createPerson(db)
  assert.deepEqual(await seenBy(person), [])
  await grantRole(db, person.id, 'viewer', { organizationId, projectId })
  assert.deepEqual(await seenBy(person), [inSecond, inFirst])
})

test('a deactivated account sees nothing', async () => {
  const person = await createMember(db, world.tree, 'viewer')
  await db.updateTable('users').set({ active: false }).where('id', '=', person.id).execute()
  assert.equal((await request('GET', '/actions', { token: person.token })).status, 401)
})

describe('what a visible action embeds', () => {
  test('is not shown when it belongs to an environment that the caller may not see', async () => {
    const { tree, second, inFirst, inThird } = await createWorld()
    const child = await createAction(db, second, { parent_id: inFirst, trigger_type: 'pipeline' })
    const member = await createMember(db, tree, 'viewer')
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', tree)

    const whole = (await request('GET', `/actions/${inFirst}`, { token: member.token })).body
    assert.equal(whole.resource.data.credential.last_action.id, inThird)
    assert.deepEqual(
      whole.children.map((one: { id: number }) => one.id),
      [child],
    )
    const part = (await request('GET', `/actions/${inFirst}`, { token: person.token })).body
    assert.equal(part.resource.data.credential.last_action, null)
    assert.deepEqual(part.children, [])
    const [item] = (await request('GET', '/actions', { token: person.token })).body
    assert.equal(item.resource.data.credential.last_action, null)
    const childRead = (await request('GET', `/actions/${child}`, { token: member.token })).body
    assert.equal(childRead.parent.id, inFirst)
  })

  test('hides a parent that the caller may not see', async () => {
    const { tree, second, inFirst } = await createWorld()
    const child = await createAction(db, second, { parent_id: inFirst, trigger_type: 'pipeline' })
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', {
      organizationId: tree.organizationId,
      projectId: tree.projectId,
      environmentId: second.environmentId,
    })
    const { body } = await request('GET', `/actions/${child}`, { token: person.token })
    assert.equal(body.parent, null)
  })
})
