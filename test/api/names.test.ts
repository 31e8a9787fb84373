// GET /names: one index of everything with a name, as far as the caller may read it.
import assert from 'node:assert/strict'
import { after, before, suite, test } from 'node:test'
import { PERMISSIONS, type Permission } from '#access/authorization/permissions.ts'
import { openTestApp } from '#test/support/harness.ts'
import { assertInvalid } from '#test/support/refusals.ts'
import {
  addEnvironment,
  createHook,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
} from '#test/support/world.ts'
import type { NameEntry } from '#views/names/schemas.ts'

const { db, request, statements } = await openTestApp({ after })

const tree = await createTestTree(db)
const { organizationId, projectId, environmentId, applicationId, pipelineId, credentialId } = tree
const { token } = tree.owner
const [firstServerId] = tree.serverIds
const staging = await addEnvironment(db, tree.owner.id, projectId, credentialId)
const elsewhere = await createTestTree(db)
const hooks = {
  incoming: await createHook(db, tree, 'incoming', { name: 'Push to main' }),
  outgoing: await createHook(db, tree, 'outgoing', { name: 'Commit status' }),
}
await createHook(db, elsewhere, 'incoming', { name: 'Push to main' })
await rename('organizations', organizationId, 'Acme')
await rename('projects', projectId, 'Shop')
await rename('environments', environmentId, 'Production')
await rename('environments', staging.environmentId, 'Staging')

type Renamed = 'organizations' | 'projects' | 'environments' | 'credentials'

async function rename(table: Renamed, id: number, name: string) {
  await db.updateTable(table).set({ name }).where('id', '=', id).execute()
}

async function find(query: Record<string, string> = {}, as = token): Promise<NameEntry[]> {
  const { status, body, text } = await request('GET', `/names?${new URLSearchParams(query)}`, { token: as })
  assert.equal(status, 200, text)
  return body
}

const pathsOf = (items: NameEntry[]) => items.map(({ type, path }) => `${type} ${path}`)
const paths = async (query: Record<string, string>, as?: string) => pathsOf(await find(query, as))

async function createPipeline(name: string): Promise<number> {
  const body = { name, operation: 'custom' }
  const made = await request('POST', `/pipelines/application/${applicationId}`, { token, body })
  assert.equal(made.status, 201, made.text)
  return made.body.id
}

async function removePipelines(ids: number[]): Promise<void> {
  for (const id of ids) assert.equal((await request('DELETE', `/pipelines/${id}`, { token })).status, 204)
}

async function withRole(permissions: Permission[], where: object = {}): Promise<Person> {
  const person = await createPerson(db)
  const { id: role_id } = await db
    .insertInto('roles')
    .values({ organization_id: organizationId, name: `Role of ${person.id}`, permissions })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('grants')
    .values({ user_id: person.id, role_id, organization_id: organizationId, ...where })
    .execute()
  return person
}

suite('the index', () => {
  test('has everything in the organizations of the caller, by path', async () => {
    const { url_slug } = await db
      .selectFrom('organizations')
      .select('url_slug')
      .where('id', '=', organizationId)
      .executeTakeFirstOrThrow()
    assert.deepEqual(await paths({ per_page: '100' }), [
      `organization ${url_slug}`,
      'project shop',
      'environment shop/production',
      'application shop/production/shop',
      'pipeline shop/production/shop/deploy',
      'outgoing_hook shop/production/shop/deploy/commit-status',
      'incoming_hook shop/production/shop/deploy/push-to-main',
      'server shop/production/web-1',
      'pipeline shop/production/web-1/restart',
      'server shop/production/web-2',
      'environment shop/staging',
      'application shop/staging/shop',
      'pipeline shop/staging/shop/deploy',
      'server shop/staging/web-1',
      'pipeline shop/staging/web-1/restart',
      'server shop/staging/web-2',
      'credential source',
    ])
  })

  test('says what a page or a command needs to know about each of them', async () => {
    const above = {
      organization: { id: organizationId, name: 'Acme' },
      project_id: projectId,
      environment_id: environmentId,
      archived: false,
    }
    const [pipeline] = await find({ q: 'production/web-1/restart' })
    const [hook] = await find({ q: 'push to main', type: 'incoming_hook' })
    assert.deepEqual(pipeline, {
      ...above,
      type: 'pipeline',
      id: tree.serverPipelineId,
      name: 'Restart',
      path: 'shop/production/web-1/restart',
      resource_type: 'server',
      resource_id: firstServerId,
      pipeline_id: null,
    })
    assert.deepEqual(hook, {
      ...above,
      type: 'incoming_hook',
      id: hooks.incoming,
      name: 'Push to main',
      path: 'shop/production/shop/deploy/push-to-main',
      resource_type: 'application',
      resource_id: applicationId,
      pipeline_id: pipelineId,
    })
    const nowhere = { project_id: null, environment_id: null, resource_type: null, resource_id: null }
    const credential = { type: 'credential', id: credentialId, name: 'Source', path: 'source' }
    assert.deepEqual(await find({ type: 'credential' }), [
      { ...above, ...nowhere, ...credential, pipeline_id: null },
    ])
  })

  test('shows what changed in the next request', async () => {
    const archive = (verb: string) =>
      request('POST', `/environments/${staging.environmentId}/${verb}`, { token })
    const archived = async () => pathsOf((await find({ per_page: '100' })).filter((one) => one.archived))
    assert.deepEqual(await archived(), [])
    assert.equal((await archive('archive')).status, 200)
    const inStaging = await archived()
    assert.equal(inStaging.length, 6)
    assert.ok(inStaging.every((path) => path.includes(' shop/staging')))
    assert.equal((await archive('unarchive')).status, 200)
    const id = await createPipeline('Reindex')
    assert.deepEqual(await paths({ q: 'reindex' }), ['pipeline shop/production/shop/reindex'])
    await request('PUT', `/pipelines/${id}`, { token, body: { name: 'Rebuild' } })
    assert.deepEqual([await paths({ q: 'reindex' }), (await paths({ q: 'rebuild' })).length], [[], 1])
    await removePipelines([id])
    assert.deepEqual([await paths({ q: 'rebuild' }), await archived()], [[], []])
  })

  test('has nothing that was removed', async () => {
    const doomed = await createTestTree(db)
    for (const type of ['incoming', 'outgoing'] as const) await createHook(db, doomed, type)
    const types = async () => (await find({}, doomed.owner.token)).map(({ type }) => type)
    assert.equal((await types()).length, 11)
    for (const url of [`/projects/${doomed.projectId}?cascade=true`, `/credentials/${doomed.credentialId}`]) {
      const { status, text } = await request('DELETE', url, { token: doomed.owner.token })
      assert.equal(status, 204, text)
    }
    assert.deepEqual(await types(), ['organization'])
  })

  test('is read from memory while nothing changes', async () => {
    await find()
    statements.length = 0
    await find({ q: 'deploy' })
    assert.equal(statements.length, 1, 'the caller')
  })

  test('has pages like other lists, of up to 1000', async () => {
    const answer = await request('GET', '/names?per_page=2&page=2&type=server', { token })
    assert.deepEqual(pathsOf(answer.body), ['server shop/staging/web-1', 'server shop/staging/web-2'])
    assert.equal(answer.headers['x-total-count'], '4')
    const relations = [...answer.headers.link!.matchAll(/type=server.*?rel="(\w+)"/g)]
    assert.deepEqual(
      relations.map(([, name]) => name),
      ['first', 'prev', 'last'],
    )
    assert.deepEqual(await find({ per_page: '1000', page: '2' }), [])
  })

  test('rejects unknown types, too large pages and too long searches, all at once', async () => {
    const query = new URLSearchParams({
      type: 'server,role',
      per_page: '1001',
      q: 'x'.repeat(201),
      name: 'x',
    })
    assertInvalid(await request('GET', `/names?${query}`, { token }), 'name', 'per_page', 'q', 'type')
    for (const type of ['', ',', 'server,', 'servers', 'Server'])
      assertInvalid(await request('GET', `/names?type=${type}`, { token }), 'type')
  })
})

suite('a search', () => {
  test('finds paths in which every word occurs, in any order and case', async () => {
    assert.deepEqual(await paths({ q: 'shop/production/web', type: 'server' }), [
      'server shop/production/web-1',
      'server shop/production/web-2',
    ])
    assert.deepEqual(await paths({ q: ' WEB-1  Staging / ', type: 'server' }), ['server shop/staging/web-1'])
    assert.equal((await paths({ q: ' / ', type: 'server' })).length, 4)
    assert.deepEqual(await paths({ q: 'shop/production/mail' }), [])
  })

  test('takes every character literally', async () => {
    const id = await createPipeline('100% [a-z]_\\.* now')
    for (const q of ['%', '_', '.*', '[a-z]', '\\', '100%'])
      assert.deepEqual(await paths({ q }), ['pipeline shop/production/shop/100-a-z-now'], q)
    for (const q of ["'", '"', '$', '(', '%00']) assert.deepEqual(await paths({ q }), [], q)
    await removePipelines([id])
  })

  test('lists the path itself first, then names that are the last word, that start with it, and the others', async () => {
    const ids = await Promise.all(['Web', 'Web assets', 'Old web', 'Rewebbed'].map(createPipeline))
    const type = 'pipeline'
    const at = 'pipeline shop/production/shop/'
    const others = [`${at}old-web`, `${at}rewebbed`]
    const restarts = ['production', 'staging'].map((name) => `pipeline shop/${name}/web-1/restart`)
    assert.deepEqual(await paths({ q: 'web', type }), [`${at}web`, `${at}web-assets`, ...others, ...restarts])
    assert.equal((await paths({ q: 'shop/old web', type }))[0], `${at}old-web`)
    assert.equal((await paths({ q: 'production web', type }))[0], `${at}web`)
    assert.deepEqual((await paths({ q: 'shop' })).slice(0, 3), [
      'project shop',
      'application shop/production/shop',
      'application shop/staging/shop',
    ])
    await removePipelines(ids)
    await rename('credentials', credentialId, 'Web 1')
    assert.deepEqual((await paths({ q: 'web-1' })).slice(0, 2), [
      'credential web-1',
      'server shop/production/web-1',
    ])
    await rename('credentials', credentialId, 'Source')
  })

  test('finds names of every script, with and without accents', async () => {
    const names = ['Café déployé', 'Магазин 2', '한국어 배포', '🚀', 'Ørsted']
    const ids = await Promise.all(names.map(createPipeline))
    const slugs = ['cafe-deploye', 'магазин-2', '한국어-배포', `pipeline-${ids[3]}`, 'ørsted']
    for (const [index, slug] of slugs.entries()) {
      const path = `shop/production/shop/${slug}`
      for (const q of [names[index]!, names[index]!.normalize('NFD').toUpperCase(), path])
        assert.deepEqual(await paths({ q }), [`pipeline ${path}`], q)
    }
    await removePipelines(ids)
  })
})

suite('what belongs to one of them', () => {
  test('is everything below it, not itself', async () => {
    const within = (type: string, id: number | string) => paths({ within: `${type}:${id}` })
    const deploy = 'shop/production/shop/deploy'
    const ofPipeline = [`outgoing_hook ${deploy}/commit-status`, `incoming_hook ${deploy}/push-to-main`]
    const ofApplication = [`pipeline ${deploy}`, ...ofPipeline]
    const ofServers = [
      'server shop/production/web-1',
      'pipeline shop/production/web-1/restart',
      'server shop/production/web-2',
    ]
    const ofEnvironment = ['application shop/production/shop', ...ofApplication, ...ofServers]
    assert.deepEqual(await within('pipeline', pipelineId), ofPipeline)
    assert.deepEqual(await within('application', applicationId), ofApplication)
    assert.deepEqual(await within('server', firstServerId!), [ofServers[1]])
    assert.deepEqual(await within('environment', environmentId), ofEnvironment)
    const ofProject = await within('project', projectId)
    assert.equal(ofProject.length, ofEnvironment.length + 2 + 5)
    assert.deepEqual(await within('organization', organizationId), [
      'project shop',
      ...ofProject,
      'credential source',
    ])
    assert.deepEqual(await within('incoming_hook', hooks.incoming), [])
  })

  test('can be narrowed by type and search, and is counted', async () => {
    const query = `within=environment:${environmentId}&type=pipeline&q=restart&per_page=1`
    const answer = await request('GET', `/names?${query}`, { token })
    assert.deepEqual(pathsOf(answer.body), ['pipeline shop/production/web-1/restart'])
    assert.equal(answer.headers['x-total-count'], '1')
  })

  test('is nothing when the one does not exist, or cannot be read', async () => {
    const { token: as } = await withRole(['hook:view'])
    assert.equal((await find({}, as)).length, 2)
    assert.deepEqual(await find({ within: `pipeline:${pipelineId}` }, as), [])
    for (const within of [
      'environment:999999999',
      `environment:${elsewhere.environmentId}`,
      `organization:${elsewhere.organizationId}`,
    ])
      assert.deepEqual(await find({ within }), [])
  })

  test('must be asked for by type and id', async () => {
    for (const within of ['', '12', 'application', 'application:0', 'application:', 'role:1', 'server:1,2'])
      assertInvalid(await request('GET', `/names?${new URLSearchParams({ within })}`, { token }), 'within')
  })
})

suite('ids', () => {
  test('select items of one type', async () => {
    const ids = [...tree.serverIds, applicationId, 999_999_999].join()
    const found = await find({ type: 'server', 'filter[id]': ids })
    assert.deepEqual(
      found.map(({ id }) => id),
      tree.serverIds,
    )
    const [hook] = await find({ type: 'incoming_hook', 'filter[id]': hooks.incoming.toUpperCase() })
    assert.equal(hook?.id, hooks.incoming)
    const foreign = { type: 'pipeline', 'filter[id]': String(elsewhere.pipelineId) }
    assert.deepEqual(await find(foreign), [])
  })

  test('require exactly one type, and are at most 100', async () => {
    const ask = (query: Record<string, string>) =>
      request('GET', `/names?${new URLSearchParams(query)}`, { token })
    assertInvalid(await ask({ 'filter[id]': '1' }), 'filter[id]')
    assertInvalid(await ask({ 'filter[id]': '1', type: 'server,application' }), 'filter[id]')
    const many = Array.from({ length: 101 }, (_, index) => index + 1).join()
    for (const ids of ['', ',', '1,', '0', 'x', many])
      assertInvalid(await ask({ type: 'server', 'filter[id]': ids }), 'filter[id]')
  })
})

suite('a caller', () => {
  const ROUTES: Record<NameEntry['type'], string> = {
    organization: '/organizations',
    project: '/projects',
    environment: '/environments',
    application: '/applications',
    server: '/servers',
    pipeline: '/pipelines',
    incoming_hook: '/hooks/incoming',
    outgoing_hook: '/hooks/outgoing',
    credential: '/credentials',
  }
  const urlOf = ({ type, id }: NameEntry) => `${ROUTES[type]}/${id}`
  let everything: NameEntry[]
  before(async () => {
    const both = [token, elsewhere.owner.token].map((as) => find({ per_page: '1000' }, as))
    everything = (await Promise.all(both)).flat()
  })

  /** Asks the route that reads a single one of them about each. */
  async function assertSeesWhatItMayRead(as: string): Promise<NameEntry[]> {
    const read = (one: NameEntry) => request('GET', urlOf(one), { token: as })
    const answers = await Promise.all(everything.map(read))
    const readable = everything.filter((_, index) => answers[index]!.status === 200)
    const seen = await find({ per_page: '1000' }, as)
    assert.deepEqual(seen.map(urlOf).sort(), readable.map(urlOf).sort())
    return seen
  }

  for (const permission of PERMISSIONS.filter((one) => one.endsWith(':view'))) {
    test(`with ${permission} alone sees exactly what that lets them read`, async () => {
      const seen = await assertSeesWhatItMayRead((await withRole([permission])).token)
      assert.equal(seen.length > 0, !['action:view', 'member:view'].includes(permission))
    })
  }

  test('with a role on a project or an environment sees what is in it', async () => {
    for (const where of [{ projectId }, { projectId, environmentId }]) {
      const person = await createPerson(db)
      await grantRole(db, person.id, 'viewer', { organizationId, ...where })
      const seen = await assertSeesWhatItMayRead(person.token)
      assert.ok(seen.some(({ path }) => path === 'shop/production/shop/deploy/push-to-main'))
    }
  })

  test('without a role sees nothing, not even as an instance administrator', async () => {
    for (const admin of [false, true]) {
      const person = await createPerson(db, { admin })
      assert.deepEqual(await find({}, person.token), [])
    }
  })

  test('of two organizations sees both, each with its organization', async () => {
    const person = await createPerson(db)
    for (const one of [tree, elsewhere])
      await grantRole(db, person.id, 'viewer', { organizationId: one.organizationId })
    const seen = await assertSeesWhatItMayRead(person.token)
    assert.equal(seen.length, everything.length)
    const pushes = await find({ q: 'push', type: 'incoming_hook' }, person.token)
    assert.deepEqual(
      pushes.map(({ organization }) => organization.id).sort(),
      [organizationId, elsewhere.organizationId].sort(),
    )
  })

  test('sees and finds no names of ancestors that they may not know', async () => {
    const inProduction = { project_id: projectId, environment_id: environmentId }
    // The project cannot be read with a role on one of its environments.
    const { token: as } = await withRole(['project:view', 'hook:view'], inProduction)
    const above = `project-${projectId}/environment-${environmentId}/application-${applicationId}/pipeline-${pipelineId}`
    assert.deepEqual(await paths({}, as), [
      `outgoing_hook ${above}/commit-status`,
      `incoming_hook ${above}/push-to-main`,
    ])
    for (const q of ['shop', 'production', 'deploy']) assert.deepEqual(await paths({ q }, as), [], q)
    assert.equal((await paths({ q: `project-${projectId}` }, as)).length, 2)
    const { token: reader } = await withRole(['environment:view', 'pipeline:view'])
    assert.deepEqual(await paths({ q: 'production/deploy' }, reader), [
      `pipeline shop/production/application-${applicationId}/deploy`,
    ])
    const { token: watcher } = await withRole(['action:view', 'hook:view'])
    assert.equal((await paths({ q: 'shop/production/shop/deploy/push' }, watcher)).length, 1)
  })
})
