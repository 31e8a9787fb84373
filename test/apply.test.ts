// Applying a gantry.yaml: what it makes, changes and leaves alone.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import { type Answer, openTestApp } from './harness.ts'
import { createPerson, grantRole, type Person } from './world.ts'

const api = await openTestApp({ after })
const { db } = api
const administrator = await createPerson(db, { admin: true })

type Wish = { values?: Record<string, string>; dry_run?: boolean; prune?: boolean }

const apply = (document: string, wish: Wish = {}, by: Person = administrator) =>
  api.request('POST', '/apply', { token: by.token, body: { document, ...wish } })

async function applied(
  document: string,
  wish: Wish = {},
  by: Person = administrator,
): Promise<Answer['body']> {
  const { status, body, text } = await apply(document, wish, by)
  assert.equal(status, 200, text)
  return body
}

const inShort = ({ changes }: Answer['body']) =>
  changes.map((change: { verb: string; path: string }) => `${change.verb} ${change.path}`)
const read = async (url: string, by: Person = administrator) =>
  (await api.request('GET', url, { token: by.token })).body

let count = 0
/** Each test has an organization of its own. */
const nextName = () => `Organization ${++count}`

const guide = await readFile(new URL('../docs/guides/gantry-yaml.md', import.meta.url), 'utf8')
const sample = /```yaml\n([\s\S]*?)```/.exec(guide)![1]!
const SECRETS = { GITHUB_TOKEN: 'ghp_abcdefgh', DATABASE_PASSWORD: 'correct horse battery' }

suite('the document of the guide', () => {
  const document = sample.replace('organization: Acme', `organization: ${nextName()}`)

  test('a dry run tells everything and keeps nothing', async () => {
    const answer = await applied(document, { values: SECRETS, dry_run: true })
    assert.equal(answer.dry_run, true)
    assert.ok(answer.summary.create > 15)
    assert.deepEqual(answer.secrets, [])
    const organizations = await db.selectFrom('organizations').select('id').execute()
    assert.deepEqual(organizations, [])
    assert.deepEqual(await db.selectFrom('audit_entries').select('id').execute(), [])
  })

  test('makes everything in it, tells the secrets of hooks once, and never the values', async () => {
    const { status, body, text } = await apply(document, { values: { ...SECRETS, SPARE: 'not needed' } })
    assert.equal(status, 200, text)
    for (const value of Object.values(SECRETS)) assert.ok(!text.includes(value))
    assert.deepEqual(body.unused_values, ['SPARE'])
    assert.deepEqual(inShort(body).slice(0, 4), [
      'create organization',
      'create project',
      'create credentials.GitHub',
      'create credentials.Web servers',
    ])
    const deploy = 'environments.production.applications.shop.pipelines.Deploy'
    assert.deepEqual(
      body.secrets.map(({ path }: { path: string }) => path),
      [`${deploy}.hooks.incoming.Push to main`, `${deploy}.hooks.outgoing.Tell the chat`],
    )
    assert.match(body.secrets[0].secret, /^[0-9a-f]{64}$/)
    assert.match(body.secrets[0].url, /\/hooks\/[\w-]+\/trigger$/)
    assert.match(body.secrets[1].secret, /^whsec_/)
    assert.equal(body.secrets[1].url, null)

    const application = await db.selectFrom('applications').selectAll().executeTakeFirstOrThrow()
    const [deployed] = await read(`/pipelines/application/${application.id}`)
    assert.deepEqual(
      deployed.steps.map(({ name, timeout_seconds }: Record<string, unknown>) => [name, timeout_seconds]),
      [
        ['check-app-environment', 600],
        ['get-new-release', 600],
        ['install-dependencies', 900],
        ['build-application', 600],
        ['migrate', 600],
        ['activate-new-release', 600],
        ['warm-up', 600],
        ['remove-old-releases', 600],
      ],
    )
    const migrate = deployed.steps[4]
    assert.ok(migrate.command.includes(`\${GANTRY_RELEASE}`))
    const { linked_resources } = await read(`/applications/${application.id}`)
    assert.equal(linked_resources.length, 2)
    const restart = await db
      .selectFrom('pipelines')
      .select('id')
      .where('operation', '=', 'restart')
      .executeTakeFirstOrThrow()
    assert.deepEqual((await read(`/pipelines/${restart.id}`)).run_after, [deployed.id])
    const entries = await db.selectFrom('audit_entries').select('subject_type').execute()
    for (const type of [
      'organization',
      'credential',
      'server',
      'application',
      'variable',
      'pipeline',
      'step',
      'incoming_hook',
      'outgoing_hook',
    ])
      assert.ok(
        entries.some((entry) => entry.subject_type === type),
        type,
      )
  })

  test('applied again changes nothing, and writes nothing', async () => {
    const entries = () =>
      db
        .selectFrom('audit_entries')
        .select(({ fn }) => fn.countAll().as('count'))
        .execute()
    const before = await entries()
    const answer = await applied(document, { values: SECRETS, prune: true })
    assert.deepEqual(answer.changes, [])
    assert.deepEqual(answer.summary, { create: 0, change: 0, delete: 0 })
    assert.deepEqual(await entries(), before)
  })

  test('another value is a change, which shows neither the old nor the new one', async () => {
    const { body, text } = await apply(document, { values: { ...SECRETS, GITHUB_TOKEN: 'ghp_another' } })
    assert.deepEqual(body.changes, [
      {
        verb: 'change',
        type: 'credential',
        name: 'GitHub',
        path: 'credentials.GitHub',
        fields: [{ field: 'token', before: '********', after: '********' }],
      },
    ])
    assert.ok(!text.includes('ghp_'))
    assert.deepEqual(
      (await applied(document, { values: { ...SECRETS, GITHUB_TOKEN: 'ghp_another' } })).changes,
      [],
    )
  })

  test('is read as JSON, too', async () => {
    const { parse } = await import('yaml')
    const json = JSON.stringify(parse(document), null, '\t')
    assert.deepEqual(
      (await applied(json, { values: { ...SECRETS, GITHUB_TOKEN: 'ghp_another' } })).changes,
      [],
    )
  })
})

suite('the export of a project', () => {
  const organization = nextName()
  const document = sample.replace('organization: Acme', `organization: ${organization}`)
  const url = async (project: string) => {
    const { id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    return `/organizations/${id}/export?project=${project}`
  }

  test('is a document that changes nothing, and tells no secret', async () => {
    await applied(document, { values: SECRETS })
    const answer = await api.request('GET', await url('Shop'), { token: administrator.token })
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers['content-type']!, /^application\/yaml/)
    for (const value of Object.values(SECRETS)) assert.ok(!answer.text.includes(value))
    assert.match(
      answer.text,
      /^# These .*\n# {3}GITHUB_TOKEN\n# {3}WEB_SERVERS_PRIVATE_KEY\n# {3}PRODUCTION_SHOP_DATABASE/,
    )
    const again = await apply(answer.text, { dry_run: true })
    assert.deepEqual(Object.keys(again.body.errors), [
      'credentials.GitHub.token',
      'credentials.Web servers.private_key',
      'environments.production.applications.shop.variables.DATABASE_PASSWORD.value',
    ])
    const without = answer.text
      .replaceAll(/^ *(private_key|token): \$\{.*\n/gm, '')
      .replace(/\$\{PROD.*\}/, 'x')
    assert.deepEqual(inShort(await applied(without, { dry_run: true, prune: true })), [
      'change environments.production.applications.shop.variables.DATABASE_PASSWORD',
    ])
  })

  test('makes the same elsewhere', async () => {
    const { text } = await api.request('GET', await url('Shop'), { token: administrator.token })
    const copy = text
      .replace(organization, nextName())
      .replaceAll(/private_key: \$\{.*/g, 'generate: true')
      .replaceAll(/\$\{(GITHUB|PROD).*\}/g, 'x')
    const { summary } = await applied(copy)
    assert.equal(
      summary.create,
      (await applied(document.replace(organization, nextName()), { values: SECRETS })).summary.create,
    )
    assert.deepEqual((await applied(copy)).changes, [])
  })

  test('of a project that is not there is 404', async () => {
    assert.equal((await api.request('GET', await url('Nope'), { token: administrator.token })).status, 404)
  })
})

const shop = (organization: string, environments: string) =>
  `organization: ${organization}\nproject: {name: Shop}\nenvironments:\n${environments}`

suite('a change', () => {
  test('tells each field before and after, and leaves alone what the document does not speak of', async () => {
    const organization = nextName()
    const server = (more: string) =>
      shop(
        organization,
        `  live:\n    type: production\n    servers:\n      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv/, ${more}}\n`,
      )
    await applied(server('max_parallel_actions: 3'))
    const answer = await applied(server('port: 2222'))
    assert.deepEqual(answer.changes, [
      {
        verb: 'change',
        type: 'server',
        name: 'web-1',
        path: 'environments.live.servers.web-1',
        fields: [{ field: 'port', before: 22, after: 2222 }],
      },
    ])
    const { max_parallel_actions, port } = await db
      .selectFrom('servers')
      .selectAll()
      .where('port', '=', 2222)
      .executeTakeFirstOrThrow()
    assert.deepEqual([max_parallel_actions, port], [3, 2222])
  })

  test('of the order of steps moves them, and only once', async () => {
    const organization = nextName()
    const steps = (...names: string[]) =>
      shop(
        organization,
        `  live:
    type: production
    servers:
      web-1:
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
        pipelines:
          Tidy:
            operation: custom
            steps:
${names.map((name) => `              - {name: ${name}, command: 'true'}\n`).join('')}`,
      )
    await applied(steps('one', 'two', 'three'))
    const answer = await applied(steps('three', 'one', 'two'))
    assert.deepEqual(inShort(answer), ['change environments.live.servers.web-1.pipelines.Tidy.steps.three'])
    assert.deepEqual((await applied(steps('three', 'one', 'two'))).changes, [])
    const pipeline = await db
      .selectFrom('pipelines')
      .select('id')
      .where('name', '=', 'Tidy')
      .executeTakeFirstOrThrow()
    const names = async () =>
      (await read(`/pipelines/${pipeline.id}`)).steps.map(({ name }: { name: string }) => name)
    assert.deepEqual(await names(), ['three', 'one', 'two'])
    const pruned = await applied(steps('two', 'one'), { prune: true })
    assert.deepEqual(pruned.summary, { create: 0, change: 1, delete: 1 })
    assert.deepEqual(await names(), ['two', 'one'])
  })

  test('turns who runs after whom around', async () => {
    const organization = nextName()
    const pipelines = (first: string, second: string) =>
      shop(
        organization,
        `  live:
    type: production
    servers:
      web-1:
        provider_code: ssh
        host: a.example.com
        login_name: deploy
        root_directory: /srv
        pipelines:
          A: {operation: custom, run_after: [${first}]}
          B: {operation: custom, run_after: [${second}]}
`,
      )
    await applied(pipelines('B', ''))
    await applied(pipelines('', 'A'))
    assert.deepEqual((await applied(pipelines('', 'A'))).changes, [])
    const circle = await apply(pipelines('B', 'A'))
    assert.equal(circle.status, 422)
    assert.match(circle.text, /circle of pipelines/)
  })

  test('two at the same moment: both are done, one after the other', async () => {
    const organization = nextName()
    const document = shop(organization, '  live: {type: production}\n')
    await applied(document)
    const more = (name: string) => `${document}  ${name}: {type: staging}\n`
    const answers = await Promise.all(['one', 'two', 'one', 'two'].map((name) => apply(more(name))))
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    )
    assert.equal(
      answers.reduce((sum, { body }) => sum + body.summary.create, 0),
      2,
    )
  })
})

suite('pruning', () => {
  const organization = nextName()
  const full = shop(
    organization,
    `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
      web-2: {provider_code: ssh, host: b.example.com, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        servers: [web-1, web-2]
        variables: {ONE: '1', TWO: '2'}
        pipelines:
          Deploy:
            operation: deploy
            hooks: {incoming: {Push: {}}}
          Tidy: {operation: custom, steps: [{name: tidy, command: 'true'}]}
  test: {type: staging}
`,
  )
  const less = shop(
    organization,
    `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        servers: [web-1]
        variables: {ONE: '1'}
        pipelines: {Deploy: {operation: deploy}}
`,
  )
  const other = full.replace('name: Shop', 'name: Blog')
  const gone = [
    'delete environments.live.applications.shop.pipelines.Deploy.hooks.incoming.Push',
    'delete environments.live.applications.shop.pipelines.Tidy',
    'delete environments.live.applications.shop.pipelines.Tidy.steps.tidy',
    'delete environments.live.applications.shop.variables.TWO',
    'delete environments.live.servers.web-2',
    'delete environments.test',
  ]

  test('without it, nothing goes', async () => {
    await applied(full)
    await applied(other)
    const { changes } = await applied(less)
    assert.deepEqual(
      changes.map(({ path, verb }: Record<string, string>) => `${verb} ${path}`),
      ['change environments.live.applications.shop'],
    )
    await applied(full)
  })

  test('is refused while a run is not finished, and changes nothing', async () => {
    const pipeline = await db
      .selectFrom('pipelines')
      .select(['id', 'environment_id'])
      .where('name', '=', 'Tidy')
      .where('resource_type', '=', 'application')
      .orderBy('id')
      .executeTakeFirstOrThrow()
    const action = await db
      .insertInto('actions')
      .values({
        environment_id: pipeline.environment_id,
        pipeline_id: pipeline.id,
        type: 'custom',
        status: 'queued',
        status_reason_code: 'QUEUED',
        trigger_type: 'manual',
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    for (const dry_run of [true, false]) {
      const { status, body } = await apply(less, { prune: true, dry_run })
      assert.equal(status, 409)
      assert.deepEqual(Object.keys(body.errors), ['environments.live.applications.shop.pipelines.Tidy'])
    }
    assert.deepEqual((await applied(full)).changes, [])
    await db.deleteFrom('actions').where('id', '=', action.id).execute()
  })

  test('removes what the project has and the document does not name, and nothing of another project', async () => {
    const dry = await applied(less, { prune: true, dry_run: true })
    const answer = await applied(less, { prune: true })
    assert.deepEqual(inShort(answer), inShort(dry))
    assert.deepEqual(
      inShort(answer)
        .filter((one: string) => one.startsWith('delete'))
        .sort(),
      gone,
    )
    assert.deepEqual((await applied(less, { prune: true })).changes, [])
    assert.deepEqual((await applied(other, { prune: true })).changes, [])
  })
})

suite('permissions', () => {
  const organization = nextName()
  const document = shop(
    organization,
    `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
    applications:
      shop:
        repository: https://git.example.com/shop.git
        variables: {SECRET: {value: correct horse, hidden: true}}
        pipelines: {Deploy: {operation: deploy, hooks: {incoming: {Push: {}}}}}
`,
  )
  const people = {
    developer: administrator,
    viewer: administrator,
    outsider: administrator,
    local: administrator,
  }

  test('only administrators of the installation make organizations', async () => {
    const { status, body } = await apply(document, {}, await createPerson(db))
    assert.equal(status, 403)
    assert.match(body.errors.organization[0], /^line 1, column \d+: needs an administrator/)
    await applied(document)
    const { id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    const environment = await db
      .selectFrom('environments')
      .innerJoin('projects', 'projects.id', 'environments.project_id')
      .select(['environments.id', 'project_id'])
      .where('organization_id', '=', id)
      .executeTakeFirstOrThrow()
    people.outsider = await createPerson(db)
    people.developer = await createPerson(db)
    people.viewer = await createPerson(db)
    people.local = await createPerson(db)
    await grantRole(db, people.developer.id, 'developer', { organizationId: id })
    await grantRole(db, people.viewer.id, 'viewer', { organizationId: id })
    await grantRole(db, people.local.id, 'developer', {
      organizationId: id,
      projectId: environment.project_id,
      environmentId: environment.id,
    })
  })

  test('each change takes what its route takes, and all that is lacking is told, by a dry run too', async () => {
    const wish = document
      .replace('host: a.', 'host: c.')
      .replace(
        '    applications:',
        '      web-2: {provider_code: ssh, host: b, login_name: d, root_directory: /srv}\n    applications:',
      )
      .concat('  test: {type: staging}\n')
    for (const dry_run of [true, false]) {
      const { status, body } = await apply(wish, { dry_run }, people.developer)
      assert.equal(status, 403)
      assert.deepEqual(body.errors, {
        'environments.live.servers.web-1': ['line 7, column 7: needs the permission server:edit'],
        'environments.live.servers.web-2': ['line 8, column 7: needs the permission server:add'],
        'environments.test': ['line 14, column 3: needs the permission environment:add'],
      })
    }
    const pruned = await apply(
      shop(organization, '  live: {type: production}\n'),
      { prune: true },
      people.developer,
    )
    assert.equal(pruned.status, 403)
    assert.match(pruned.text, /server:remove/)
    assert.match(pruned.text, /pipeline:remove/)
  })

  test('a developer changes what developers may, also with a role in the one environment', async () => {
    const wish = document.replace('operation: deploy', 'operation: deploy, queue_policy: latest')
    for (const person of [people.developer, people.local])
      assert.equal((await applied(wish, { dry_run: true }, person)).summary.change, 1)
  })

  test('who may not change a secret is not told whether it is the same', async () => {
    const without = document.replace('{SECRET: {value: correct horse, hidden: true}}', '{}')
    assert.deepEqual((await applied(without, {}, people.viewer)).changes, [])
    for (const guess of ['correct horse', 'wrong horse']) {
      const { status, body } = await apply(document.replace('correct horse', guess), {}, people.viewer)
      assert.equal(status, 403)
      assert.deepEqual(Object.keys(body.errors), ['environments.live.applications.shop.variables.SECRET'])
    }
  })

  test('a project is unknown to those who have a role beside it', async () => {
    const elsewhere = await createPerson(db)
    const { id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    await applied(document.replace('name: Shop', 'name: Blog'))
    const blog = await db
      .selectFrom('projects')
      .select('id')
      .where('name', '=', 'Blog')
      .where('organization_id', '=', id)
      .executeTakeFirstOrThrow()
    await grantRole(db, elsewhere.id, 'admin', { organizationId: id, projectId: blog.id })
    const empty = (name: string) => `organization: ${organization}\nproject: {name: ${name}}\n`
    const [known, unknown] = await Promise.all(
      ['Shop', 'Nope'].map((name) => apply(empty(name), {}, elsewhere)),
    )
    assert.equal(known!.status, 403)
    assert.deepEqual(known!.body.errors, unknown!.body.errors)
    assert.deepEqual((await applied(empty('Blog'), {}, elsewhere)).changes, [])
  })

  test('local servers are for administrators of the installation', async () => {
    const owner = await createPerson(db)
    const { id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    await grantRole(db, owner.id, 'owner', { organizationId: id })
    const wish = document.replace(
      '    applications:',
      '      here: {provider_code: local, root_directory: /srv}\n    applications:',
    )
    const { status, body } = await apply(wish, { dry_run: true }, owner)
    assert.equal(status, 403)
    assert.match(body.errors['environments.live.servers.here'][0], /Only administrators of this installation/)
  })

  test('needs a token', async () => {
    assert.equal((await api.request('POST', '/apply', { body: { document } })).status, 401)
  })
})

test('what a document costs grows with what it changes, and looking at it costs the same however much it says', async () => {
  const document = (organization: string, applications: number) =>
    shop(
      organization,
      `  live:
    type: production
    servers:
      web-1: {provider_code: ssh, host: a.example.com, login_name: deploy, root_directory: /srv}
    applications:
${Array.from(
  { length: applications },
  (_, index) => `      app-${index}:
        repository: https://git.example.com/app-${index}.git
        servers: [web-1]
        variables: {NUMBER: '${index}', SECRET: {value: 'secret ${index}', hidden: true}}
        pipelines:
          Deploy:
            operation: deploy
            steps: [{name: warm-up, command: 'true', trigger_after: activate-new-release}]
            hooks: {incoming: {Push: {requires_secret: true}}}
`,
).join('')}`,
    )
  const costs = async (applications: number) => {
    const text = document(nextName(), applications)
    api.statements.length = 0
    const { summary } = await applied(text)
    assert.equal(summary.create, 4 + 6 * applications)
    const making = api.statements.length
    api.statements.length = 0
    assert.deepEqual((await applied(text)).changes, [])
    return { making, looking: api.statements.length }
  }
  const [few, more] = [await costs(2), await costs(22)]
  assert.equal(more.looking, few.looking)
  assert.ok(few.looking < 25, `${few.looking} statements`)
  assert.ok((more.making - few.making) / 20 < 60, `${more.making - few.making} statements for 20 more`)
})
