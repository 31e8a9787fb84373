// Applying and exporting a gantry.yaml: what it creates, and how many statements it takes.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, suite, test } from 'node:test'
import { createApply, nextName, shop, summarize } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'

const api = await openTestApp({ after })
const { db } = api
const { administrator, apply, applied } = await createApply(api)
const read = async (url: string) => (await api.request('GET', url, { token: administrator.token })).body

const guide = await readFile(new URL('../../docs/guides/gantry-yaml.md', import.meta.url), 'utf8')
const sample = /```yaml\n([\s\S]*?)```/.exec(guide)![1]!
const SECRETS = { GITHUB_TOKEN: 'ghp_abcdefgh', DATABASE_PASSWORD: 'correct horse battery' }

suite('the document of the guide', () => {
  const document = sample.replace('organization: Acme', `organization: ${nextName()}`)

  test('a dry run reports everything and stores nothing', async () => {
    const answer = await applied(document, { values: SECRETS, dry_run: true })
    assert.equal(answer.dry_run, true)
    assert.ok(answer.summary.create > 15)
    assert.deepEqual(answer.secrets, [])
    const organizations = await db.selectFrom('organizations').select('id').execute()
    assert.deepEqual(organizations, [])
    assert.deepEqual(await db.selectFrom('audit_entries').select('id').execute(), [])
  })

  test('creates everything, returns the secrets of hooks once, and never the values', async () => {
    const { status, body, text } = await apply(document, { values: { ...SECRETS, SPARE: 'not needed' } })
    assert.equal(status, 200, text)
    for (const value of Object.values(SECRETS)) assert.ok(!text.includes(value))
    assert.deepEqual(body.unused_values, ['SPARE'])
    assert.deepEqual(summarize(body).slice(0, 4), [
      'create organization',
      'create project',
      'create credentials.GitHub',
      'create credentials.Web servers',
    ])
    const deploy = 'environments.production.applications.shop.pipelines.Deploy'
    assert.deepEqual(
      body.secrets.map(({ path }: { path: string }) => path),
      [`${deploy}.hooks.incoming.Push to main`, `${deploy}.hooks.outgoing.Notify chat`],
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

  test('applying it again changes nothing and writes nothing', async () => {
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

  test('another value is a change that shows neither the old nor the new one', async () => {
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

  test('JSON works, too', async () => {
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

  test('is a document that changes nothing and contains no secret', async () => {
    await applied(document, { values: SECRETS })
    const answer = await api.request('GET', await url('Shop'), { token: administrator.token })
    assert.equal(answer.status, 200, answer.text)
    assert.match(answer.headers['content-type']!, /^application\/yaml/)
    for (const value of Object.values(SECRETS)) assert.ok(!answer.text.includes(value))
    assert.match(answer.text, /^# These .*\n# {3}GITHUB_TOKEN\n# {3}PRODUCTION_SHOP_DATABASE/)
    const again = await apply(answer.text, { dry_run: true })
    assert.deepEqual(Object.keys(again.body.errors), [
      'credentials.GitHub.token',
      'environments.production.applications.shop.variables.DATABASE_PASSWORD.value',
    ])
    const without = answer.text
      .replaceAll(/^ *token: \$\{.*\n/gm, '')
      .replace(/\$\{PROD.*\}/, 'another-value')
    assert.deepEqual(summarize(await applied(without, { dry_run: true, prune: true })), [
      'change environments.production.applications.shop.variables.DATABASE_PASSWORD',
    ])
  })

  test('creates the same in another organization', async () => {
    const { text } = await api.request('GET', await url('Shop'), { token: administrator.token })
    const copy = text.replace(organization, nextName()).replaceAll(/\$\{(GITHUB|PROD).*\}/g, 'another-value')
    const { summary } = await applied(copy)
    assert.equal(
      summary.create,
      (await applied(document.replace(organization, nextName()), { values: SECRETS })).summary.create,
    )
    assert.deepEqual((await applied(copy)).changes, [])
  })

  test('of an unknown project is 404', async () => {
    assert.equal((await api.request('GET', await url('Nope'), { token: administrator.token })).status, 404)
  })
})

test('the number of statements grows with the changes; comparing takes a fixed number of them', async () => {
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
