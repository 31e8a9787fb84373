// Attempts to get more than was granted: permissions, commands on Gantry's own machine, deceptive names.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { PERMISSIONS } from '#access/authorization/permissions.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const { app, db, request } = await openTestApp({ after })
const document = app.swagger() as unknown as {
  paths: Record<string, { get?: { parameters?: { name: string }[] } }>
}
const tree = await createTestTree(db)
const { token } = tree.owner
const admin = await createMember(db, tree, 'admin')
const administrator = await createPerson(db, { admin: true })
await grantRole(db, administrator.id, 'owner', { organizationId: tree.organizationId })
const organization = `/organizations/${tree.organizationId}`
const environment = `/environments/${tree.environmentId}`

const send = (method: string, url: string, body?: object, more: RequestOptions = {}) =>
  request(method, url, { token, body, ...more })
async function create(url: string, body: object, more: RequestOptions = {}) {
  const answer = await send('POST', url, body, more)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
const byAdmin = { token: admin.token }
const byAdministrator = { token: administrator.token }

suite('a role', () => {
  test('cannot be reduced, renamed or emptied by somebody who lacks its permissions', async () => {
    const everything = { name: 'Everything', permissions: [...PERMISSIONS] }
    const { id } = await create(`${organization}/roles`, everything)
    const inputs = [{ permissions: [] }, { permissions: ['hook:view'] }, { name: 'Nothing' }]
    for (const input of inputs) {
      const answer = await send('PUT', `/roles/${id}`, input, byAdmin)
      assert.deepEqual([answer.status, /you lack organization:remove/.test(answer.body.message)], [403, true])
    }
    const { body } = await send('GET', `/roles/${id}`)
    assert.deepEqual([body.name, body.permissions.length], ['Everything', PERMISSIONS.length])
    assert.equal((await send('PUT', `/roles/${id}`, { permissions: ['hook:view'] })).status, 200)
    assert.equal((await send('PUT', `/roles/${id}`, { permissions: ['hook:edit'] }, byAdmin)).status, 200)
  })

  test('owner cannot be granted by an admin, not even on a part of the organization', async () => {
    const person = await createPerson(db)
    const { projectId: project_id, environmentId: environment_id } = tree
    for (const scope of [{}, { project_id }, { environment_id }]) {
      const body = { email: person.email, role: 'owner', ...scope }
      assert.equal((await send('POST', `${organization}/invitations`, body, byAdmin)).status, 403)
      const grants = [{ role: 'admin' }, { role: 'owner', ...scope }]
      const own = `${organization}/members/${admin.id}`
      assert.equal((await send('PUT', own, { grants }, byAdmin)).status, 403)
    }
  })

  test('on one project does not allow managing members', async () => {
    const person = await createPerson(db)
    await grantRole(db, person.id, 'owner', tree)
    await db
      .updateTable('grants')
      .set({ project_id: tree.projectId })
      .where('user_id', '=', person.id)
      .execute()
    const body = { email: person.email, role: 'owner' }
    const answer = await send('POST', `${organization}/invitations`, body, { token: person.token })
    assert.equal(answer.status, 404)
  })
})

suite('what runs on a local server', () => {
  test('can be chained after another pipeline by instance administrators only', async () => {
    const local = await addLocalServer()
    const input = { name: 'Clean up', operation: 'custom' }
    const { id } = await create(`/pipelines/server/${local}`, input, byAdministrator)
    const run_after = [tree.pipelineId]
    assert.equal((await send('PUT', `/pipelines/${id}`, { run_after })).status, 403)
    assert.equal((await send('PUT', `/pipelines/${id}`, { run_after }, byAdministrator)).status, 200)
    assert.equal((await send('PUT', `/pipelines/${id}`, { run_after: [] })).status, 403)
    assert.equal((await send('PUT', `/pipelines/${id}`, { name: 'Tidy up', run_after })).status, 200)
  })

  test('cannot be redirected to another host through the credential', async () => {
    const local = await addLocalServer()
    const token = { provider_code: 'gitea', base_url: 'https://git.example.com', token: 'example' }
    const credential = await create(`${organization}/credentials`, { name: 'Gitea', ...token })
    const application = { name: 'Site', repository: 'acme/site', credential_id: credential.id }
    const { id } = await create(`${environment}/applications`, application)
    const url = `/credentials/${credential.id}`
    const elsewhere = { base_url: 'https://evil.example.com', token: 'example' }
    assert.equal((await send('PUT', url, elsewhere)).status, 200, 'as long as it runs elsewhere')
    assert.equal((await send('PUT', url, { ...token, provider_code: undefined })).status, 200)
    const link = `/resource-links/application/${id}/server/${local}`
    assert.equal((await send('PUT', link, undefined, byAdministrator)).status, 204)
    assert.equal((await send('PUT', url, elsewhere)).status, 403)
    assert.equal(
      (await send('PUT', url, { base_url: 'https://git.example.com/evil', token: 'x' })).status,
      403,
    )
    assert.equal((await send('PUT', url, { token: 'another', name: 'Our Gitea' })).status, 200)
    assert.equal((await send('PUT', url, elsewhere, byAdministrator)).status, 200)
  })

  test('cannot be changed by others in any other way', async () => {
    const local = await addLocalServer()
    const linked_resources = [{ resource_type: 'server', resource_id: local }]
    const site = { name: 'Here', repository: 'https://github.com/acme/site.git' }
    const { id } = await create(`${environment}/applications`, { ...site, linked_resources }, byAdministrator)
    const pipeline = await create(
      `/pipelines/application/${id}`,
      { name: 'Deploy', operation: 'deploy' },
      byAdministrator,
    )
    const step = { name: 'step', command: 'true' }
    const variable = { name: 'NODE_OPTIONS', value: '--require ./evil.js' }
    const applied = `/applications/${id}`
    const built = pipeline.steps[3].id
    const attempts: [string, string, object?][] = [
      ['POST', `${environment}/servers`, { name: 'x', provider_code: 'local', root_directory: '/srv' }],
      ['PUT', `/servers/${local}`, { root_directory: '/etc' }],
      ['POST', `${environment}/applications`, { ...site, name: 'Other', linked_resources }],
      ['PUT', `/applications/${tree.applicationId}`, { linked_resources }],
      ['PUT', `/resource-links/application/${tree.applicationId}/server/${local}`],
      ['PUT', `/resource-links/server/${local}/application/${tree.applicationId}`],
      ['PUT', applied, { build_command: 'evil' }],
      ['PUT', applied, { install_dependencies_command: 'evil' }],
      ['PUT', applied, { repository: 'https://github.com/evil/site.git' }],
      ['PUT', applied, { default_branch: 'evil' }],
      ['PUT', applied, { root_directory: 'evil' }],
      ['PUT', applied, { shared_paths: ['evil'] }],
      ['PUT', applied, { submodules: 'ignore' }],
      ['PUT', applied, { credential_id: tree.credentialId }],
      ['PUT', applied, { linked_resources: [] }],
      ['POST', `${applied}/variables`, variable],
      ['POST', `/pipelines/application/${id}`, { name: 'Evil', operation: 'custom' }],
      ['POST', `/pipelines/server/${local}`, { name: 'Evil', operation: 'custom' }],
      ['PUT', `/pipelines/${pipeline.id}`, { operation: 'custom' }],
      ['PUT', `/pipelines/${pipeline.id}`, { run_after: [tree.pipelineId] }],
      ['POST', `/pipelines/${pipeline.id}/steps`, step],
      ['PUT', `/pipelines/${pipeline.id}/steps/${built}`, { timeout_seconds: 1 }],
    ]
    for (const [method, url, body] of attempts) {
      const answer = await send(method, url, body)
      assert.equal(answer.status, 403, `${method} ${url} ${JSON.stringify(body)} ${answer.text}`)
    }
    const turned = await send('PUT', `/servers/${tree.serverIds[0]}`, { provider_code: 'local' })
    assert.deepEqual([turned.status, Object.keys(turned.body.errors)], [422, ['provider_code']])
  })
})

suite('a name', () => {
  const bad = {
    'a control character': 'Shop\u0007',
    'a line break': 'Shop\nBlog',
    'a change of direction': 'Shop \u202egnp.exe',
    'an isolate': 'Shop\u2067',
    'nothing visible': '\u200b\u200d\u2060',
    'a zero byte': 'Shop\u0000',
    '65 KB': 'x'.repeat(65_536),
  }
  const routes: [string, string, object][] = [
    ['POST', '/organizations', {}],
    ['POST', `${organization}/projects`, {}],
    ['POST', `/projects/${tree.projectId}/environments`, { type: 'staging' }],
    ['POST', `${organization}/credentials`, { provider_code: 'github' }],
    ['POST', `${organization}/roles`, { permissions: [] }],
    ['POST', `${organization}/invitations`, { email: 'new@example.com', role: 'viewer' }],
    ['POST', `${environment}/servers`, { provider_code: 'local', root_directory: '/srv' }],
    ['POST', `${environment}/applications`, { repository: 'https://github.com/acme/site.git' }],
    ['POST', `/pipelines/application/${tree.applicationId}`, { operation: 'custom' }],
    ['POST', `/pipelines/${tree.pipelineId}/steps`, { command: 'true' }],
  ]
  for (const [what, name] of Object.entries(bad)) {
    test(`with ${what} is rejected on every route`, async () => {
      for (const [method, url, more] of routes) {
        const answer = await send(method, url, { ...more, name }, byAdministrator)
        assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['name']], url)
      }
    })
  }

  test('is taken even if another one differs in Unicode normalization only', async () => {
    const unique = routes.filter(([, url]) =>
      /(projects|environments|credentials|servers|applications)$/.test(url),
    )
    assert.equal(unique.length, 5)
    for (const [, url, more] of unique) {
      await create(url, { ...more, name: 'Caf\u00e9' }, byAdministrator)
      const answer = await send('POST', url, { ...more, name: 'Cafe\u0301' }, byAdministrator)
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['name']], url)
    }
  })

  test('filter accepts any text, in every list', async () => {
    const lists = Object.entries(document.paths).filter(([, { get }]) =>
      get?.parameters?.some((one) => one.name === 'filter[name]'),
    )
    assert.ok(lists.length >= 10)
    const ids = { ...tree, id: tree.applicationId, resource_id: tree.applicationId }
    for (const [path] of lists) {
      const own = /^\/(organization|project|environment)s/.exec(path)?.[1]
      const id = own ? ids[`${own as 'project'}Id`] : path.includes('server') ? tree.serverIds[0] : ids.id
      for (const name of ['%00', '%25', '%5C', '%E2%80%AE', "'", 'x'.repeat(255)]) {
        const answer = await send('GET', `${path.replace(/\{\w+\}/, String(id))}?filter[name]=${name}`)
        assert.equal(answer.status, name === '%00' ? 422 : 200, `${path} ${name} ${answer.text}`)
      }
    }
  })

  test('can be in any language, and contain emoji', async () => {
    for (const name of ['Müller & Söhne', 'מִיפְעָל', '店', 'نام‌ها', 'Rocket 🚀', '👩‍💻'])
      await create(`${organization}/projects`, { name })
  })
})

test('a token in the URL of a repository is rejected before anybody can read it there', async () => {
  const site = (at: string) => ({ name: `Site ${++counter}`, repository: `https://${at}/acme/site.git` })
  const tokens = [
    `ghp_${'a1B2'.repeat(9)}`,
    `github_pat_${'a1B2'.repeat(9)}`,
    `glpat-${'a1B2'.repeat(5)}`,
    '0123456789abcdef0123456789abcdef01234567',
    `acme:${'a1B2'.repeat(9)}`,
  ]
  for (const secret of tokens) {
    for (const [method, url] of [
      ['POST', `${environment}/applications`],
      ['PUT', `/applications/${tree.applicationId}`],
    ] as const) {
      const answer = await send(method, url, site(`${secret}@github.com`))
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['repository']], secret)
      assert.ok(!answer.text.includes(secret))
    }
  }
  const { text } = await send('GET', `${organization}/audit?per_page=100`)
  assert.ok(tokens.every((secret) => !text.includes(secret)))
  await create(`${environment}/applications`, site('acme@bitbucket.org'))
})

let counter = 0
async function addLocalServer(): Promise<number> {
  const input = { name: `Here ${++counter}`, provider_code: 'local', root_directory: '/srv' }
  return (await create(`${environment}/servers`, input, byAdministrator)).id
}
