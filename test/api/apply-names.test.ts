// Names in a gantry.yaml: whatever the API accepts, and what an export does when it cannot tell two resources apart.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { createApply, nextName } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'

const run = promisify(execFile)
const api = await openTestApp({ after })
const { administrator, apply, applied } = await createApply(api)
const { token } = administrator

const ODD_NAMES = [
  ...['__proto__', 'constructor', '<<', `\${NAME}`, `$\${NAME}`, `\${`],
  ...['yes', 'null', '~', '1.0', '01', '.inf', '2026-11-17', '10', '9'],
  ...['- a', '#x', 'a: b', '? a', '&a', '*a', '!a', '---', '{a}', '|', '@', '"', "'", '\\'],
  ...['.', '-', '…!', '*'.repeat(60), ' a ', 'a.b/c', '发布 🚀', 'a\u00a0b', 'e\u0301'],
]

async function call(method: 'GET' | 'POST', url: string, body?: object) {
  const answer = await api.request(method, url, { token, body, headers: { accept: '*/*' } })
  assert.ok(answer.status < 300, `${method} ${url}: ${answer.text}`)
  return answer
}
const create = async (url: string, body: object) => (await call('POST', url, body)).body

async function organizationCalled(name: string): Promise<number> {
  const { id } = await api.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', name)
    .executeTakeFirstOrThrow()
  return id
}

const exportOf = (organizationId: number, project: string) =>
  api.request('GET', `/organizations/${organizationId}/export?project=${encodeURIComponent(project)}`, {
    token,
    headers: { accept: '*/*' },
  })

/** An environment in which everything has the same name. */
async function createNamesakes(organizationId: number, projectId: number, name: string): Promise<void> {
  const credential = await create(`/organizations/${organizationId}/credentials`, {
    name,
    provider_code: 'github',
  })
  const environment = await create(`/projects/${projectId}/environments`, { name, type: 'staging' })
  const server = await create(`/environments/${environment.id}/servers`, {
    name,
    provider_code: 'ssh',
    host: 'web.example.com',
    login_name: 'deploy',
    root_directory: '/srv',
  })
  const application = await create(`/environments/${environment.id}/applications`, {
    name,
    repository: 'https://github.com/acme/shop.git',
    credential_id: credential.id,
    linked_resources: [{ resource_type: 'server', resource_id: server.id }],
  })
  const pipeline = await create(`/pipelines/application/${application.id}`, { name, operation: 'deploy' })
  await create(`/pipelines/${pipeline.id}/steps`, { name, command: 'true' })
  await create(`/pipelines/${pipeline.id}/steps`, { name: `${name} 2`, command: 'true' })
  await create(`/pipelines/${pipeline.id}/hooks/incoming`, { name })
  await create(`/pipelines/${pipeline.id}/hooks/outgoing`, { name, target_url: 'https://example.com/' })
  await create(`/pipelines/server/${server.id}`, { name, operation: 'custom', run_after: [pipeline.id] })
}

suite('every name that the API accepts', () => {
  const organization = '1.0'
  const project = '__proto__'

  test('is in an export, which creates the same in another organization', async () => {
    const { id } = await create('/organizations', { name: organization })
    const { id: projectId } = await create(`/organizations/${id}/projects`, { name: project })
    for (const name of ODD_NAMES) await createNamesakes(id, projectId, name)

    const exported = await exportOf(id, project)
    assert.equal(exported.status, 200, exported.text)
    assert.deepEqual((await applied(exported.text)).changes, [])
    const copy = exported.text.replace('organization: "1.0"', 'organization: "2.0"')
    const { summary } = await applied(copy)
    assert.deepEqual(summary, { create: 2 + 10 * ODD_NAMES.length, change: 0, delete: 0 })
    const again = await exportOf(await organizationCalled('2.0'), project)
    assert.equal(again.text, copy)
  })
})

suite('pipelines and hooks that share a name', () => {
  const createPipelines = async () => {
    const organization = nextName()
    await applied(`organization: ${organization}
project: {name: Shop}
environments:
  live:
    type: production
    applications:
      shop: {repository: https://git.example.com/shop.git, pipelines: {Deploy: {operation: deploy}}}
      blog: {repository: https://git.example.com/blog.git, pipelines: {Deploy: {operation: deploy}}}`)
    const id = await organizationCalled(organization)
    const rows = await api.db.selectFrom('pipelines').selectAll().orderBy('id').execute()
    return { id, pipelines: rows.slice(-2) }
  }

  test('cannot be exported: 409 lists all of them with their ids', async () => {
    const { id, pipelines } = await createPipelines()
    const [shop, blog] = pipelines
    // The same names in another pipeline, or as the other type of hook, are not ambiguous.
    for (const url of [`/pipelines/${shop!.id}/hooks/incoming`, `/pipelines/${blog!.id}/hooks/incoming`])
      await create(url, { name: 'Push' })
    await create(`/pipelines/${shop!.id}/hooks/outgoing`, {
      name: 'Push',
      target_url: 'https://example.com/',
    })
    assert.equal((await exportOf(id, 'Shop')).status, 200)

    const hooks = [
      await create(`/pipelines/${shop!.id}/hooks/incoming`, { name: 'Merge' }),
      await create(`/pipelines/${shop!.id}/hooks/incoming`, { name: 'Merge' }),
    ]
    const { application_id } = blog!
    const second = await create(`/pipelines/application/${application_id}`, {
      name: 'Deploy',
      operation: 'deploy',
    })
    // It shares its name with a hook of the other pipeline of this name.
    await create(`/pipelines/${second.id}/hooks/incoming`, { name: 'Push' })
    const { status, body } = await exportOf(id, 'Shop')
    assert.equal(status, 409)
    assert.equal(body.code, 'ambiguous_names')
    const ids = (list: { id: string | number }[]) =>
      list
        .map((one) => one.id)
        .sort()
        .join(', ')
    assert.deepEqual(body.errors, {
      'environments.live.applications.blog.pipelines.Deploy': [
        `2 pipelines have this name: ${ids([blog!, second])}`,
      ],
      'environments.live.applications.shop.pipelines.Deploy.hooks.incoming.Merge': [
        `2 incoming hooks have this name: ${ids(hooks)}`,
      ],
    })
  })

  test('are listed completely and quickly: 300 of 2,000 hooks', async () => {
    const { id, pipelines } = await createPipelines()
    const { id: pipeline_id, environment_id } = pipelines[0]!
    const hook = (name: string) => ({
      id: randomUUID(),
      pipeline_id,
      environment_id,
      type: 'outgoing' as const,
      name,
      action_type: 'deploy' as const,
      settings: '{}',
      trigger_when: '{}',
      target_url: 'https://example.com/',
      verify_ssl: true,
      secret: Buffer.from('sealed'),
      created_by: administrator.id,
      edited_by: administrator.id,
    })
    const names = Array.from({ length: 2_000 }, (_, index) => `Hook ${index < 300 ? index % 150 : index}`)
    await api.db.insertInto('hooks').values(names.map(hook)).execute()
    const before = performance.now()
    const { status, body } = await exportOf(id, 'Shop')
    assert.ok(performance.now() - before < 3_000)
    assert.equal(status, 409)
    const listed = Object.entries<string[]>(body.errors).filter(([path]) => path.includes('outgoing.Hook '))
    assert.equal(listed.length, 150)
    for (const [, [message]] of listed)
      assert.match(message!, /^2 outgoing hooks have this name: [0-9a-f-]{36}, [0-9a-f-]{36}$/)
  })
})

test('`<<` without quotes is a merge key, which is not supported', async () => {
  const { body } = await apply(
    `organization: ${nextName()}\nproject: {name: Shop}\nenvironments: {<<: {type: staging}}`,
  )
  assert.match(JSON.stringify(body.errors), /merge keys/)
})

test('a key that Gantry generated is exported as `generate: true`, and one that a person gave as a placeholder', async () => {
  const { id } = await create('/organizations', { name: nextName() })
  await create(`/organizations/${id}/projects`, { name: 'Shop' })
  const folder = await mkdtemp(join(tmpdir(), 'gantry-key-'))
  after(() => rm(folder, { recursive: true }))
  const file = join(folder, 'key')
  // As similar as a person can make it.
  await run('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'gantry', '-f', file])
  const url = `/organizations/${id}/credentials`
  await create(url, { name: 'Given', provider_code: 'ssh', private_key: await readFile(file, 'utf8') })
  await create(url, { name: 'Generated', provider_code: 'ssh', generate: true })
  const { text } = await exportOf(id, 'Shop')
  assert.deepEqual(parse(text).credentials, {
    Given: { provider_code: 'ssh', active: true, private_key: `\${GIVEN_PRIVATE_KEY}` },
    Generated: { provider_code: 'ssh', active: true, generate: true },
  })
})
