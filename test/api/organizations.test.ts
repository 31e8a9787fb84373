// Managing organizations, projects and environments.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createHook,
  createMember,
  createPerson,
  createTestTree,
  grantRole,
  type TestTree,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db, request } = api
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createPerson(db, { admin: true })
const viewer = await createMember(db, tree, 'viewer')
const outsider = (await createTestTree(db)).owner

const projectsOf = (organizationId: number) => `/organizations/${organizationId}/projects`
const environmentsOf = (projectId: number) => `/projects/${projectId}/environments`

async function create(url: string, body: object, as = token): Promise<Answer['body']> {
  const answer = await request('POST', url, { token: as, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}

suite('an organization', () => {
  test('is created by an instance administrator, who becomes its owner', async () => {
    const { status, body, headers } = await request('POST', '/organizations', {
      token: admin.token,
      body: { name: 'Müller & Söhne' },
    })
    assert.equal(status, 201)
    assert.equal(body.url_slug, 'muller-sohne')
    assert.equal(body.owner.id, admin.id)
    assert.ok(headers.etag)
    const listed = await request('GET', '/organizations', { token: admin.token })
    assert.deepEqual(listed.body, [body])
    const member = await request('GET', `/organizations/${body.id}/members`, { token: admin.token })
    assert.deepEqual(
      member.body[0].grants.map((grant: { role: string }) => grant.role),
      ['owner'],
    )
  })

  test('cannot be created by anybody else', async () => {
    const { status } = await request('POST', '/organizations', { token, body: { name: 'Mine' } })
    assert.equal(status, 403)
  })

  test('gets a unique slug even if many have the same name, and keeps it when it is renamed', async () => {
    const created = await Promise.all(
      Array.from({ length: 8 }, () => create('/organizations', { name: 'Twin' }, admin.token)),
    )
    const slugs = created.map((one) => one.url_slug)
    assert.equal(new Set(slugs).size, 8, slugs.join())
    assert.ok(slugs.includes('twin') && slugs.includes('twin-2'), slugs.join())
    const renamed = await request('PUT', `/organizations/${created[0]!.id}`, {
      token: admin.token,
      body: { name: 'Single' },
    })
    assert.equal(renamed.body.name, 'Single')
    assert.equal(renamed.body.url_slug, slugs[0])
  })

  test('is listed for callers who can view it, and found by a part of its name', async () => {
    const find = async (text: string, as = token) =>
      (await request('GET', `/organizations?filter[name]=${text}`, { token: as })).body.map(
        (one: { id: number }) => one.id,
      )
    assert.deepEqual(await find('ORGANIZATION'), [tree.organizationId])
    assert.deepEqual(await find('%25'), [])
    assert.ok(!(await find('organization', outsider.token)).includes(tree.organizationId))
    assert.equal((await request('GET', '/organizations?filter[name]=%00', { token })).status, 422)
  })

  test('cannot be removed while it has projects or credentials, and the error lists them', async () => {
    const { status, body } = await request('DELETE', `/organizations/${tree.organizationId}`, { token })
    assert.equal(status, 409)
    assert.deepEqual(body.errors.credentials, ['1 credential: Source'])
    assert.match(body.errors.projects[0], /^1 project: Project \d+$/)
    assert.match(body.message, /1 project: Project \d+; 1 credential: Source/)
  })

  test('no longer exists for anybody once it is removed, and its slug is free again', async () => {
    const created = await create('/organizations', { name: 'Short lived' }, admin.token)
    const path = `/organizations/${created.id}`
    await create(`${path}/invitations`, { email: 'never@example.com', role: 'viewer' }, admin.token)
    assert.equal((await request('DELETE', path, { token: admin.token })).status, 204)
    assert.equal((await request('GET', path, { token: admin.token })).status, 404)
    const again = await request('POST', '/organizations', {
      token: admin.token,
      body: { name: 'Short lived' },
    })
    assert.equal(again.body.url_slug, 'short-lived')
    const left = await db
      .selectFrom('invitations')
      .select('id')
      .where('organization_id', '=', created.id)
      .execute()
    assert.deepEqual(left, [], 'its invitations are gone')
  })
})

suite('a project', () => {
  test('is created, read, partially changed and removed', async () => {
    const created = await create(projectsOf(tree.organizationId), {
      name: 'Blog',
      logo_url: 'https://example.com/a.png',
    })
    const path = `/projects/${created.id}`
    const read = await request('GET', path, { token: viewer.token })
    assert.deepEqual(read.body, created)
    assert.equal(read.body.organization.id, tree.organizationId)
    assert.equal(read.body.created_by_user.id, tree.owner.id)
    const changed = await request('PUT', path, { token, body: { logo_url: null } })
    assert.equal(changed.status, 200)
    assert.deepEqual([changed.body.name, changed.body.logo_url], ['Blog', null])
    assert.notEqual(changed.headers.etag, read.headers.etag)
    assert.equal((await request('DELETE', path, { token })).status, 204)
    assert.equal((await request('GET', path, { token })).status, 404)
    assert.equal((await request('DELETE', path, { token })).status, 404)
    await create(projectsOf(tree.organizationId), { name: 'Blog' })
  })

  test('is not changed by a caller with an outdated version', async () => {
    const { id } = await create(projectsOf(tree.organizationId), { name: 'Raced' })
    const { headers } = await request('GET', `/projects/${id}`, { token })
    const put = (name: string, etag: string) =>
      request('PUT', `/projects/${id}`, { token, body: { name }, headers: { 'if-match': etag } })
    assert.equal((await put('Raced 2', headers.etag!)).status, 200)
    assert.equal((await put('Raced 3', headers.etag!)).status, 412)
    assert.equal((await put('Raced 3', '*')).status, 200)
  })

  test('has a name that is unique in its organization', async () => {
    await create(projectsOf(tree.organizationId), { name: 'Only one' })
    const second = await create(projectsOf(tree.organizationId), { name: 'Another' })
    const again = await request('POST', projectsOf(tree.organizationId), {
      token,
      body: { name: 'Only one' },
    })
    assert.deepEqual(
      [again.status, again.body.errors],
      [422, { name: ['is already taken by another project'] }],
    )
    const renamed = await request('PUT', `/projects/${second.id}`, { token, body: { name: 'Only one' } })
    assert.equal(renamed.status, 422)
    const created = await Promise.all(
      Array.from({ length: 5 }, () =>
        request('POST', projectsOf(tree.organizationId), { token, body: { name: 'At once' } }),
      ),
    )
    assert.deepEqual(created.map(({ status }) => status).sort(), [201, 422, 422, 422, 422])
  })

  test('is rejected with every error at once', async () => {
    const { status, body } = await request('POST', projectsOf(tree.organizationId), {
      token,
      body: { name: '  ', logo_url: 'javascript:alert(1)', color: 'red' },
    })
    assert.equal(status, 422)
    assert.deepEqual(Object.keys(body.errors).sort(), ['color', 'logo_url', 'name'])
    assert.equal(
      (await request('PUT', `/projects/${tree.projectId}`, { token, body: { nme: 'x' } })).status,
      422,
    )
  })

  test('is listed only for callers who can view it', async () => {
    const person = await createPerson(db)
    const role = await db
      .insertInto('roles')
      .values({
        organization_id: tree.organizationId,
        name: 'Door',
        permissions: ['organization:view'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: role.id, organization_id: tree.organizationId })
      .execute()
    const list = () => request('GET', projectsOf(tree.organizationId), { token: person.token })
    assert.deepEqual((await list()).body, [])
    const { organizationId, projectId } = tree
    await grantRole(db, person.id, 'viewer', { organizationId, projectId })
    const { body, headers } = await list()
    assert.deepEqual(
      [body.map((one: { id: number }) => one.id), headers['x-total-count']],
      [[projectId], '1'],
    )
  })

  test('lists are paginated, newest first', async () => {
    const { id: organizationId } = await create('/organizations', { name: 'Paged' }, admin.token)
    for (const name of ['One', 'Two', 'Three'])
      await create(projectsOf(organizationId), { name }, admin.token)
    const page = async (query: string) => {
      const { body, headers } = await request('GET', `${projectsOf(organizationId)}?${query}`, {
        token: admin.token,
      })
      return [body.map((one: { name: string }) => one.name).join(), headers['x-total-count'], headers.link]
    }
    const [names, total, link] = await page('per_page=2')
    assert.deepEqual([names, total], ['Three,Two', '3'])
    assert.match(link!, /rel="next"/)
    assert.equal((await page('per_page=2&page=2'))[0], 'One')
    assert.equal((await page('per_page=2&page=9'))[0], '')
    assert.deepEqual((await page('filter[name]=t')).slice(0, 2), ['Three,Two', '2'])
  })
})

suite('an environment', () => {
  test('is created, read, partially changed and removed', async () => {
    const created = await create(environmentsOf(tree.projectId), { name: 'Test bed', type: 'staging' })
    const path = `/environments/${created.id}`
    assert.deepEqual((await request('GET', path, { token: viewer.token })).body, created)
    const changed = await request('PUT', path, { token, body: { description: 'Try here' } })
    assert.deepEqual(
      [changed.body.name, changed.body.type_human_readable, changed.body.description],
      ['Test bed', 'Staging', 'Try here'],
    )
    assert.equal((await request('PUT', path, { token, body: { type: 'mars' } })).status, 422)
    assert.equal((await request('DELETE', path, { token })).status, 204)
    assert.equal((await request('GET', path, { token })).status, 404)
    await create(environmentsOf(tree.projectId), { name: 'Test bed', type: 'staging' })
  })

  test('shows the target runs of this month, for itself and its project', async () => {
    const other = await createTestTree(db)
    await db
      .insertInto('used_credits')
      .values({
        environment_id: other.environmentId,
        month: sql<string>`date_trunc('month', now())::date`,
        target_runs: 7,
      })
      .execute()
    const { body } = await request('GET', `/environments/${other.environmentId}`, {
      token: other.owner.token,
    })
    assert.deepEqual([body.used_credits, body.project.used_credits], [7, 7])
    const project = await request('GET', `/projects/${other.projectId}`, { token: other.owner.token })
    assert.equal(project.body.used_credits, 7)
  })

  test('runs nothing while it is archived, and is not archived while something runs', async () => {
    const other = await createTestTree(db)
    const as = { token: other.owner.token }
    const path = `/environments/${other.environmentId}`
    const run = () => request('POST', `/pipelines/${other.pipelineId}/actions`, { ...as, body: {} })
    const archived = await request('POST', `${path}/archive`, as)
    assert.equal(archived.status, 200)
    assert.ok(archived.body.archived_at)
    assert.deepEqual((await request('POST', `${path}/archive`, as)).body, archived.body)
    assert.equal((await run()).status, 409)
    const unarchived = await request('POST', `${path}/unarchive`, as)
    assert.equal(unarchived.body.archived_at, null)
    assert.equal((await run()).status, 201)
    const busy = await request('POST', `${path}/archive`, as)
    assert.equal(busy.status, 409)
    assert.match(busy.body.message, /1 run is not finished/)
  })
})

suite('removing what is not empty', () => {
  const remove = (path: string, as: string) => request('DELETE', path, { token: as })

  test('is rejected, and the error lists the contents', async () => {
    const environment = await remove(`/environments/${tree.environmentId}`, token)
    assert.deepEqual(
      [environment.status, environment.body.errors],
      [409, { applications: ['1 application: Shop'], servers: ['2 servers: web-1, web-2'] }],
    )
    const project = await remove(`/projects/${tree.projectId}`, token)
    assert.equal(project.status, 409)
    assert.match(project.body.errors.environments[0], /environments?: /)
    assert.equal((await remove(`/projects/${tree.projectId}?cascade=yes`, token)).status, 422)
  })

  test('with cascade is rejected while runs are unfinished', async () => {
    const other = await createTestTree(db)
    const as = other.owner.token
    const started = await request('POST', `/pipelines/${other.pipelineId}/actions`, { token: as, body: {} })
    assert.equal(started.status, 201)
    for (const path of [`/environments/${other.environmentId}`, `/projects/${other.projectId}`])
      assert.equal((await remove(`${path}?cascade=true`, as)).status, 409)
    assert.equal((await request('GET', `/projects/${other.projectId}`, { token: as })).status, 200)
  })

  test('with cascade requires the permission to remove each kind of resource in it', async () => {
    const other = await createTestTree(db)
    await createHook(db, other, 'incoming')
    const person = await createPerson(db)
    const role = await db
      .insertInto('roles')
      .values({
        organization_id: other.organizationId,
        name: 'Cleaner',
        permissions: ['project:view', 'project:remove', 'environment:remove', 'server:remove'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const { organizationId: organization_id, projectId: project_id } = other
    await db
      .insertInto('grants')
      .values({ user_id: person.id, role_id: role.id, organization_id, project_id })
      .execute()
    const { status, body } = await remove(`/projects/${project_id}?cascade=true`, person.token)
    assert.equal(status, 403)
    assert.match(body.message, /application:remove and hook:remove and pipeline:remove /)
  })

  test('with cascade removes everything, keeps the record of runs, and leaves no secret behind', async () => {
    const other = await createTestTree(db)
    const as = other.owner.token
    const created = await addEnvironment(db, other.owner.id, other.projectId, other.credentialId)
    const actionId = await createAction(db, other)
    await createHook(db, other, 'incoming')
    await db
      .insertInto('application_variables')
      .values({ application_id: other.applicationId, name: 'KEY', value: Buffer.from('sealed') })
      .execute()
    const { organizationId, projectId, environmentId } = other
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', { organizationId, projectId, environmentId })

    assert.equal((await remove(`/projects/${projectId}?cascade=true`, as)).status, 204)
    for (const path of [
      `/projects/${projectId}`,
      `/environments/${environmentId}`,
      `/environments/${created.environmentId}`,
      `/pipelines/${other.pipelineId}/hooks`,
    ])
      assert.equal((await request('GET', path, { token: as })).status, 404, path)
    const run = await request('POST', `/pipelines/${other.pipelineId}/actions`, { token: as, body: {} })
    assert.equal(run.status, 404)

    const action = await request('GET', `/actions/${actionId}`, { token: as })
    assert.equal(action.status, 200)
    assert.equal(action.body.environment.project.id, projectId)
    const listed = await request('GET', `/actions?filter[environment_id]=${environmentId}`, { token: as })
    assert.deepEqual(
      listed.body.map((one: { id: number }) => one.id),
      [actionId],
    )

    const organization = await request('GET', `/organizations/${organizationId}`, { token: as })
    const counts = organization.body.resource_summary.map(
      (one: { resource_type: string; summary: { count: number } }) => [one.resource_type, one.summary.count],
    )
    assert.deepEqual(Object.fromEntries(counts), {
      project: 0,
      environment: 0,
      application: 0,
      server: 0,
      pipeline: 0,
      credential: 1,
    })
    await assertNothingUsable(other)
    assert.equal((await remove(`/organizations/${organizationId}`, as)).status, 409, 'its credential is left')
  })

  test('an organization goes with cascade in one request, with everything in it', async () => {
    const other = await createTestTree(db)
    const as = other.owner.token
    const { organizationId, projectId, environmentId } = other
    await createAction(db, other)
    await createHook(db, other, 'incoming')
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', { organizationId, projectId, environmentId })
    const path = `/organizations/${organizationId}`
    const refused = await remove(path, as)
    assert.equal(refused.status, 409)
    assert.deepEqual(Object.keys(refused.body.errors), ['projects', 'credentials'])
    assert.equal((await remove(`${path}?cascade=true`, as)).status, 204)
    assert.equal((await request('GET', path, { token: as })).status, 404)
    await assertNothingUsable(other)
    const left = await db
      .selectFrom('credentials')
      .select(['secret', 'active'])
      .where('organization_id', '=', organizationId)
      .execute()
    assert.deepEqual(left, [{ secret: null, active: false }])
    const removed = await db
      .selectFrom('audit_entries')
      .select('subject_type')
      .where('organization_id', '=', organizationId)
      .where('verb', '=', 'removed')
      .orderBy('id')
      .execute()
    assert.deepEqual(
      removed.map((entry) => entry.subject_type),
      [
        'hook',
        'application',
        'server',
        'server',
        'pipeline',
        'pipeline',
        'environment',
        'project',
        'credential',
        'organization',
      ],
    )
  })

  test('an organization stays when the caller may not remove everything in it, or something runs', async () => {
    const other = await createTestTree(db)
    const path = `/organizations/${other.organizationId}?cascade=true`
    const person = await createPerson(db)
    const role = await db
      .insertInto('roles')
      .values({
        organization_id: other.organizationId,
        name: 'Closer',
        permissions: ['organization:view', 'organization:remove', 'project:remove'],
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    const grant = { user_id: person.id, role_id: role.id, organization_id: other.organizationId }
    await db.insertInto('grants').values(grant).execute()
    const refused = await remove(path, person.token)
    assert.equal(refused.status, 403)
    assert.match(refused.body.message, /credential:remove /)
    const token = other.owner.token
    const started = await request('POST', `/pipelines/${other.pipelineId}/actions`, { token, body: {} })
    assert.equal(started.status, 201)
    assert.equal((await remove(path, token)).status, 409)
    assert.equal((await request('GET', `/projects/${other.projectId}`, { token })).status, 200)
  })

  async function assertNothingUsable({ applicationId, environmentId }: TestTree): Promise<void> {
    const count = async (table: 'application_variables' | 'application_servers' | 'grants' | 'hooks') => {
      const where = {
        application_variables: sql`application_id = ${applicationId}`,
        application_servers: sql`environment_id = ${environmentId}`,
        grants: sql`environment_id = ${environmentId}`,
        hooks: sql`environment_id = ${environmentId} and (active or secret is not null or url_token_hash is not null)`,
      }[table]
      const { rows } = await sql<{
        n: number
      }>`select count(*) as n from ${sql.table(table)} where ${where}`.execute(db)
      return rows[0]!.n
    }
    for (const table of ['application_variables', 'application_servers', 'grants', 'hooks'] as const)
      assert.equal(await count(table), 0, table)
  }
})

suite('other callers', () => {
  test('cannot view what they have no role in, and viewers cannot change anything', async () => {
    const { organizationId, projectId, environmentId } = tree
    const paths = [
      `/organizations/${organizationId}`,
      `/projects/${projectId}`,
      `/environments/${environmentId}`,
    ]
    for (const path of paths) {
      for (const method of ['GET', 'PUT', 'DELETE']) {
        const body = method === 'PUT' ? { name: 'Taken over' } : undefined
        const answer = await request(method, path, { token: outsider.token, body })
        assert.equal(answer.status, 404, `${method} ${path}`)
        const viewed = await request(method, path, { token: viewer.token, body })
        assert.equal(viewed.status, method === 'GET' ? 200 : 403, `${method} ${path}`)
      }
    }
    for (const path of [projectsOf(organizationId), environmentsOf(projectId)]) {
      const created = await request('POST', path, { token: outsider.token, body: { name: 'X' } })
      assert.equal(created.status, 404)
      assert.equal((await request('POST', path, { token: viewer.token, body: {} })).status, 403)
    }
  })

  test('see a change at once, in every process', async (t) => {
    const beside = await openTestApp(t, { beside: api })
    const actionId = await createAction(db, tree)
    const nameThere = async () => {
      const { body } = await beside.request('GET', `/actions/${actionId}`, { token: viewer.token })
      return body.environment.name
    }
    await nameThere()
    await request('PUT', `/environments/${tree.environmentId}`, { token, body: { name: 'Renamed' } })
    assert.equal(await nameThere(), 'Renamed')
  })
})
