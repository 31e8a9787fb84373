// People who try to get more than they were given: rights, the machine of this installation, names that deceive.
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

const ask = (method: string, url: string, body?: object, more: RequestOptions = {}) =>
  request(method, url, { token, body, ...more })
async function made(url: string, body: object, more: RequestOptions = {}) {
  const answer = await ask('POST', url, body, more)
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
const byAdmin = { token: admin.token }
const byAdministrator = { token: administrator.token }

suite('a role', () => {
  test('is not made less, renamed or emptied by somebody who lacks what it allows', async () => {
    const everything = { name: 'Everything', permissions: [...PERMISSIONS] }
    const { id } = await made(`${organization}/roles`, everything)
    const wishes = [{ permissions: [] }, { permissions: ['hook:view'] }, { name: 'Nothing' }]
    for (const wish of wishes) {
      const answer = await ask('PUT', `/roles/${id}`, wish, byAdmin)
      assert.deepEqual([answer.status, /you lack organization:remove/.test(answer.body.message)], [403, true])
    }
    const { body } = await ask('GET', `/roles/${id}`)
    assert.deepEqual([body.name, body.permissions.length], ['Everything', PERMISSIONS.length])
    assert.equal((await ask('PUT', `/roles/${id}`, { permissions: ['hook:view'] })).status, 200)
    assert.equal((await ask('PUT', `/roles/${id}`, { permissions: ['hook:edit'] }, byAdmin)).status, 200)
  })

  test('of an owner is not given by an admin, not on a part of the organization either', async () => {
    const person = await createPerson(db)
    const { projectId: project_id, environmentId: environment_id } = tree
    for (const place of [{}, { project_id }, { environment_id }]) {
      const body = { email: person.email, role: 'owner', ...place }
      assert.equal((await ask('POST', `${organization}/members`, body, byAdmin)).status, 403)
      const grants = [{ role: 'admin' }, { role: 'owner', ...place }]
      const own = `${organization}/members/${admin.id}`
      assert.equal((await ask('PUT', own, { grants }, byAdmin)).status, 403)
    }
  })

  test('that somebody holds on one project gives no say over members', async () => {
    const person = await createPerson(db)
    await grantRole(db, person.id, 'owner', tree)
    await db
      .updateTable('grants')
      .set({ project_id: tree.projectId })
      .where('user_id', '=', person.id)
      .execute()
    const body = { email: person.email, role: 'owner' }
    const answer = await ask('POST', `${organization}/members`, body, { token: person.token })
    assert.equal(answer.status, 404)
  })
})

suite('what runs on the machine of this installation', () => {
  test('is not started after another pipeline by anybody but its administrators', async () => {
    const local = await addLocalServer()
    const wish = { name: 'Clean up', operation: 'custom' }
    const { id } = await made(`/pipelines/server/${local}`, wish, byAdministrator)
    const run_after = [tree.pipelineId]
    assert.equal((await ask('PUT', `/pipelines/${id}`, { run_after })).status, 403)
    assert.equal((await ask('PUT', `/pipelines/${id}`, { run_after }, byAdministrator)).status, 200)
    assert.equal((await ask('PUT', `/pipelines/${id}`, { run_after: [] })).status, 403)
    assert.equal((await ask('PUT', `/pipelines/${id}`, { name: 'Tidy up', run_after })).status, 200)
  })

  test('is not fetched from another host by way of the credential', async () => {
    const local = await addLocalServer()
    const token = { provider_code: 'gitea', base_url: 'https://git.example.com', token: 'example' }
    const credential = await made(`${organization}/credentials`, { name: 'Gitea', ...token })
    const application = { name: 'Site', repository: 'acme/site', credential_id: credential.id }
    const { id } = await made(`${environment}/applications`, application)
    const url = `/credentials/${credential.id}`
    const elsewhere = { base_url: 'https://evil.example.com', token: 'example' }
    assert.equal((await ask('PUT', url, elsewhere)).status, 200, 'as long as it runs elsewhere')
    assert.equal((await ask('PUT', url, { ...token, provider_code: undefined })).status, 200)
    const link = `/resource-links/application/${id}/server/${local}`
    assert.equal((await ask('PUT', link, undefined, byAdministrator)).status, 204)
    assert.equal((await ask('PUT', url, elsewhere)).status, 403)
    assert.equal(
      (await ask('PUT', url, { base_url: 'https://git.example.com/evil', token: 'x' })).status,
      403,
    )
    assert.equal((await ask('PUT', url, { token: 'another', name: 'Our Gitea' })).status, 200)
    assert.equal((await ask('PUT', url, elsewhere, byAdministrator)).status, 200)
  })

  test('is not decided by others by any other way', async () => {
    const local = await addLocalServer()
    const linked_resources = [{ resource_type: 'server', resource_id: local }]
    const site = { name: 'Here', repository: 'https://github.com/acme/site.git' }
    const { id } = await made(`${environment}/applications`, { ...site, linked_resources }, byAdministrator)
    const pipeline = await made(
      `/pipelines/application/${id}`,
      { name: 'Deploy', operation: 'deploy' },
      byAdministrator,
    )
    const step = { name: 'step', command: 'true' }
    const variable = { name: 'NODE_OPTIONS', value: '--require ./evil.js' }
    const applied = `/applications/${id}`
    const built = pipeline.steps[3].id
    const ways: [string, string, object?][] = [
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
    for (const [method, url, body] of ways) {
      const answer = await ask(method, url, body)
      assert.equal(answer.status, 403, `${method} ${url} ${JSON.stringify(body)} ${answer.text}`)
    }
    const turned = await ask('PUT', `/servers/${tree.serverIds[0]}`, { provider_code: 'local' })
    assert.deepEqual([turned.status, Object.keys(turned.body.errors)], [422, ['provider_code']])
  })
})

suite('a name', () => {
  const bad = {
    'a control character': 'Shop\u0007',
    'a line break': 'Shop\nBlog',
    'a change of direction': 'Shop \u202egnp.exe',
    'an isolate': 'Shop\u2067',
    'nothing to see': '\u200b\u200d\u2060',
    'a zero byte': 'Shop\u0000',
    '65 KB': 'x'.repeat(65_536),
  }
  const places: [string, string, object][] = [
    ['POST', '/organizations', {}],
    ['POST', `${organization}/projects`, {}],
    ['POST', `/projects/${tree.projectId}/environments`, { type: 'staging' }],
    ['POST', `${organization}/credentials`, { provider_code: 'github' }],
    ['POST', `${organization}/roles`, { permissions: [] }],
    ['POST', `${organization}/members`, { email: 'new@example.com', role: 'viewer' }],
    ['POST', `${environment}/servers`, { provider_code: 'local', root_directory: '/srv' }],
    ['POST', `${environment}/applications`, { repository: 'https://github.com/acme/site.git' }],
    ['POST', `/pipelines/application/${tree.applicationId}`, { operation: 'custom' }],
    ['POST', `/pipelines/${tree.pipelineId}/steps`, { command: 'true' }],
  ]
  for (const [what, name] of Object.entries(bad)) {
    test(`with ${what} is refused wherever it is given`, async () => {
      for (const [method, url, more] of places) {
        const answer = await ask(method, url, { ...more, name }, byAdministrator)
        assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['name']], url)
      }
    })
  }

  test('is taken also when it is only composed in another way', async () => {
    const unique = places.filter(([, url]) =>
      /(projects|environments|credentials|servers|applications)$/.test(url),
    )
    assert.equal(unique.length, 5)
    for (const [, url, more] of unique) {
      await made(url, { ...more, name: 'Caf\u00e9' }, byAdministrator)
      const answer = await ask('POST', url, { ...more, name: 'Cafe\u0301' }, byAdministrator)
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['name']], url)
    }
  })

  test('to look for may be anything, in every list', async () => {
    const lists = Object.entries(document.paths).filter(([, { get }]) =>
      get?.parameters?.some((one) => one.name === 'filter[name]'),
    )
    assert.ok(lists.length >= 10)
    const ids = { ...tree, id: tree.applicationId, resource_id: tree.applicationId }
    for (const [path] of lists) {
      const own = /^\/(organization|project|environment)s/.exec(path)?.[1]
      const id = own ? ids[`${own as 'project'}Id`] : path.includes('server') ? tree.serverIds[0] : ids.id
      for (const name of ['%00', '%25', '%5C', '%E2%80%AE', "'", 'x'.repeat(255)]) {
        const answer = await ask('GET', `${path.replace(/\{\w+\}/, String(id))}?filter[name]=${name}`)
        assert.equal(answer.status, name === '%00' ? 422 : 200, `${path} ${name} ${answer.text}`)
      }
    }
  })

  test('of any language, and with a smile, is fine', async () => {
    for (const name of ['Müller & Söhne', 'מִיפְעָל', '店', 'نام‌ها', 'Rocket 🚀', '👩‍💻'])
      await made(`${organization}/projects`, { name })
  })
})

test('a token in the address of a repository is refused before anybody can read it there', async () => {
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
      const answer = await ask(method, url, site(`${secret}@github.com`))
      assert.deepEqual([answer.status, Object.keys(answer.body.errors ?? {})], [422, ['repository']], secret)
      assert.ok(!answer.text.includes(secret))
    }
  }
  const { text } = await ask('GET', `${organization}/audit?per_page=100`)
  assert.ok(tokens.every((secret) => !text.includes(secret)))
  await made(`${environment}/applications`, site('acme@bitbucket.org'))
})

let counter = 0
async function addLocalServer(): Promise<number> {
  const wish = { name: `Here ${++counter}`, provider_code: 'local', root_directory: '/srv' }
  return (await made(`${environment}/servers`, wish, byAdministrator)).id
}
