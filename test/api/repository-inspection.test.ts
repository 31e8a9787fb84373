// POST /repositories/inspect with real git servers: what it tells, whom it answers, and what it costs.
import assert from 'node:assert/strict'
import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { temporaryFolder } from '#adapters/repositories/fixtures.ts'
import { serveGit } from '#adapters/repositories/test-git-server.ts'
import { startSshHost } from '#adapters/repositories/test-ssh-host.ts'
import { openTestApp, type RequestOptions } from '#test/support/harness.ts'
import { makeRepository } from '#test/support/repository.ts'
import { until } from '#test/support/until.ts'
import { createMember, createPerson, createTestTree, grantRole } from '#test/support/world.ts'

const home = await temporaryFolder({ after })
const api = await openTestApp(
  { after },
  { environment: { GANTRY_HOME: home, GANTRY_ALLOW_TARGETS: '127.0.0.1' } },
)
const { db } = api
const tree = await createTestTree(db)
const developer = await createMember(db, tree, 'developer')
const viewer = await createMember(db, tree, 'viewer')
const outsider = (await createTestTree(db)).owner
const instanceAdmin = await createPerson(db, { admin: true })
await grantRole(db, instanceAdmin.id, 'owner', { organizationId: tree.organizationId })

const repository = await makeRepository(
  { after },
  {
    files: {
      'package.json': '{"scripts": {"build": "x"}, "dependencies": {"next": "16"}}',
      'pnpm-lock.yaml': '',
      '.env.example': '',
    },
  },
)
await repository.branch('develop', 'main')
const SECRET = 's3cretT0ken'
/** Requests wait here while a test wants them to. */
let gate: Promise<void> | undefined
const server = await serveGit(
  { after },
  {
    folder: dirname(repository.folder),
    password: { username: 'zoe', secret: SECRET },
    before: async () => {
      await gate
      return false
    },
  },
)
const address = `${server.url}/shop.git`

const inspect = (body: object, by: RequestOptions = {}) =>
  api.request('POST', '/repositories/inspect', {
    token: tree.owner.token,
    body: { environment_id: tree.environmentId, repository: address, ...body },
    ...by,
  })

async function createCredential(more: object): Promise<number> {
  const { status, body, text } = await api.request(
    'POST',
    `/organizations/${tree.organizationId}/credentials`,
    { token: tree.owner.token, body: { name: `Source ${Math.random()}`, ...more } },
  )
  assert.equal(status, 201, text)
  return body.id
}
const credentialId = await createCredential({
  provider_code: 'git',
  base_url: server.url,
  username: 'zoe',
  token: SECRET,
})

suite('an inspection', () => {
  test('tells the branches, the language and usual commands of a private repository', async () => {
    const { status, body } = await inspect({ credential_id: credentialId })
    assert.equal(status, 200)
    assert.deepEqual(body, {
      reachable: true,
      problem: null,
      message: 'The repository can be read: 2 branches. It looks like nodejs.',
      branches: ['main', 'develop'],
      more_branches: false,
      default_branch: 'main',
      language: 'nodejs',
      framework: 'nextjs',
      engine_version: null,
      package_manager: 'pnpm',
      install_dependencies_command: 'pnpm install --frozen-lockfile',
      build_command: 'pnpm run build',
      shared_paths: ['.env'],
    })
    assert.deepEqual(await readdir(join(home, 'repositories', 'inspections')), [])
    const application = await api.request('POST', `/environments/${tree.environmentId}/applications`, {
      token: tree.owner.token,
      body: {
        name: 'Inspected shop',
        repository: address,
        credential_id: credentialId,
        default_branch: body.default_branch,
        programming_language: body.language,
        framework: body.framework,
        install_dependencies_command: body.install_dependencies_command,
        build_command: body.build_command,
        shared_paths: body.shared_paths,
      },
    })
    assert.equal(application.status, 201, application.text)
  })

  test('reads over ssh with the key of a credential', async (t) => {
    const host = await startSshHost(t)
    const id = await createCredential({ provider_code: 'ssh', private_key: host.privateKey })
    const { body } = await inspect({ repository: `${host.url}${repository.folder}`, credential_id: id })
    assert.deepEqual([body.reachable, body.language], [true, 'nodejs'], body.message)
  })

  test('names the reason when a repository cannot be reached, without a secret', async () => {
    const wrong = await createCredential({
      provider_code: 'git',
      base_url: server.url,
      token: `wrong${SECRET}`,
    })
    const cases: [object, string][] = [
      [{}, 'authentication'],
      [{ credential_id: wrong }, 'authentication'],
      [{ repository: `${server.url}/nothing.git`, credential_id: credentialId }, 'not_found'],
      [{ repository: 'http://127.0.0.1:1/shop.git' }, 'unreachable'],
      [{ repository: 'http://nowhere.invalid/shop.git' }, 'unreachable'],
      [{ repository: 'http://169.254.169.254/shop.git' }, 'forbidden_address'],
      [{ repository: 'ssh://git@10.0.0.1/shop.git' }, 'forbidden_address'],
    ]
    for (const [body, problem] of cases) {
      const answer = await inspect(body)
      assert.deepEqual([answer.status, answer.body.reachable, answer.body.problem], [200, false, problem])
      assert.doesNotMatch(answer.text, new RegExp(`${SECRET}|${home}`))
    }
  })
})

suite('the rules are those for creating an application', () => {
  test('the caller needs application:add in an environment that they see', async () => {
    for (const [person, status] of [
      [developer, 200],
      [viewer, 403],
      [outsider, 404],
    ] as const) {
      const answer = await inspect({ repository: 'http://127.0.0.1:1/x' }, { token: person.token })
      assert.equal(answer.status, status, answer.text)
    }
    const unknown = await inspect({ environment_id: 999_999 })
    assert.deepEqual([unknown.status, Object.keys(unknown.body.errors)], [404, ['environment_id']])
  })

  test('a credential needs credential:run, belongs to the organization, and fits the repository', async () => {
    const withCredential = { credential_id: credentialId }
    assert.equal((await inspect(withCredential, { token: developer.token })).status, 403)
    const foreign = await inspect({ credential_id: 999_999 })
    assert.deepEqual([foreign.status, Object.keys(foreign.body.errors)], [404, ['credential_id']])
    const elsewhere = await inspect({ ...withCredential, repository: 'https://github.com/acme/shop.git' })
    assert.deepEqual([elsewhere.status, Object.keys(elsewhere.body.errors)], [422, ['credential_id']])
    await db.updateTable('credentials').set({ active: false }).where('id', '=', credentialId).execute()
    const inactive = await inspect(withCredential)
    await db.updateTable('credentials').set({ active: true }).where('id', '=', credentialId).execute()
    assert.deepEqual([inactive.status, inactive.body.errors], [422, { credential_id: ['is inactive'] }])
  })

  test('addresses that no application may have are rejected, and file: is for instance administrators', async () => {
    for (const url of [
      'ext::sh -c id',
      'https://zoe:secret@example.com/x.git',
      '--upload-pack=id',
      'https://',
    ]) {
      const answer = await inspect({ repository: url })
      assert.deepEqual([answer.status, Object.keys(answer.body.errors)], [422, ['repository']], url)
    }
    assert.equal((await inspect({ repository: repository.address })).status, 403)
    const local = await inspect({ repository: repository.address }, { token: instanceAdmin.token })
    assert.deepEqual([local.body.reachable, local.body.language], [true, 'nodejs'])
  })
})

test('one user runs two at a time, and no connection to the database is held meanwhile', async () => {
  const opened = Promise.withResolvers<void>()
  gate = opened.promise
  const asked = server.requests.length
  const running = [inspect({ credential_id: credentialId }), inspect({ credential_id: credentialId })]
  try {
    await until('both ask the host', 10_000, async () => server.requests.length >= asked + 2)
    const third = await inspect({ credential_id: credentialId })
    assert.deepEqual([third.status, third.headers['retry-after']], [429, '5'])
    const other = await inspect({ repository: 'http://127.0.0.1:1/x' }, { token: developer.token })
    assert.equal(other.status, 200)
    const { rows } = await sql<{ held: number }>`
      select count(*)::int as held from pg_stat_activity
      where datname = current_database() and state like 'idle in%'`.execute(db)
    assert.equal(rows[0]!.held, 0)
  } finally {
    gate = undefined
    opened.resolve()
  }
  for (const { status, body } of await Promise.all(running))
    assert.deepEqual([status, body.reachable], [200, true])
  assert.equal((await inspect({ credential_id: credentialId })).status, 200)
})

test('a stop ends the inspections that run', async (t) => {
  const opened = Promise.withResolvers<void>()
  t.after(async () => opened.resolve())
  gate = opened.promise
  const other = await openTestApp(t, {
    beside: api,
    environment: { GANTRY_HOME: home, GANTRY_ALLOW_TARGETS: '127.0.0.1' },
  })
  const asked = server.requests.length
  const running = other.request('POST', '/repositories/inspect', {
    token: tree.owner.token,
    body: { environment_id: tree.environmentId, repository: address, credential_id: credentialId },
  })
  await until('it asks the host', 10_000, async () => server.requests.length > asked)
  await other.app.close()
  assert.equal((await running).status, 503)
  gate = undefined
  assert.deepEqual(await readdir(join(home, 'repositories', 'inspections')), [])
})
