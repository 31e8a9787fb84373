// The permissions to apply a document: exactly those of the single routes.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { createApply, nextName, shop } from '#manage/apply/test-apply.ts'
import { openTestApp } from '#test/support/harness.ts'
import { createPerson, grantRole } from '#test/support/world.ts'

const api = await openTestApp({ after })
const { db } = api
const { administrator, apply, applied } = await createApply(api)

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

  test('only instance administrators create organizations', async () => {
    const { status, body } = await apply(document, {}, await createPerson(db))
    assert.equal(status, 403)
    assert.match(body.errors.organization[0], /^line 1, column \d+: requires an instance administrator/)
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

  test('each change requires the permissions of its route; all missing ones are listed, by a dry run too', async () => {
    const changed = document
      .replace('host: a.', 'host: c.')
      .replace(
        '    applications:',
        '      web-2: {provider_code: ssh, host: b, login_name: d, root_directory: /srv}\n    applications:',
      )
      .concat('  test: {type: staging}\n')
    for (const dry_run of [true, false]) {
      const { status, body } = await apply(changed, { dry_run }, people.developer)
      assert.equal(status, 403)
      assert.deepEqual(body.errors, {
        'environments.live.servers.web-1': ['line 7, column 7: requires the permission server:edit'],
        'environments.live.servers.web-2': ['line 8, column 7: requires the permission server:add'],
        'environments.test': ['line 14, column 3: requires the permission environment:add'],
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

  test('a developer changes what developers may, also with a role in one environment only', async () => {
    const changed = document.replace('operation: deploy', 'operation: deploy, queue_policy: latest')
    for (const person of [people.developer, people.local])
      assert.equal((await applied(changed, { dry_run: true }, person)).summary.change, 1)
  })

  test('a caller who may not change a secret does not learn whether it is the same', async () => {
    const without = document.replace('{SECRET: {value: correct horse, hidden: true}}', '{}')
    assert.deepEqual((await applied(without, {}, people.viewer)).changes, [])
    for (const guess of ['correct horse', 'wrong horse']) {
      const { status, body } = await apply(document.replace('correct horse', guess), {}, people.viewer)
      assert.equal(status, 403)
      assert.deepEqual(Object.keys(body.errors), ['environments.live.applications.shop.variables.SECRET'])
    }
  })

  test('a project is hidden from callers with a role in another project only', async () => {
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

  test('only instance administrators create local servers', async () => {
    const owner = await createPerson(db)
    const { id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    await grantRole(db, owner.id, 'owner', { organizationId: id })
    const changed = document.replace(
      '    applications:',
      '      here: {provider_code: local, root_directory: /srv}\n    applications:',
    )
    const { status, body } = await apply(changed, { dry_run: true }, owner)
    assert.equal(status, 403)
    assert.match(body.errors['environments.live.servers.here'][0], /Only instance administrators/)
  })

  test('require a token', async () => {
    assert.equal((await api.request('POST', '/apply', { body: { document } })).status, 401)
  })

  test('a caller who may add hooks gets the URLs of new ones, without the permission to edit them', async () => {
    const { id: organization_id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    const person = await createPerson(db)
    await grantRole(db, person.id, 'viewer', { organizationId: organization_id })
    const { id: role_id } = await db
      .insertInto('roles')
      .values({ organization_id, name: 'Hooks', permissions: ['hook:add'] })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.insertInto('grants').values({ user_id: person.id, role_id, organization_id }).execute()
    const more = document
      .replace('{incoming: {Push: {}}}', '{incoming: {Push: {}, Mine: {}}}')
      .replace(/ +variables:.*\n/, '')
    const { secrets } = await applied(more, {}, person)
    assert.match(secrets[0].url, /\/hooks\/[\w-]{43}\/trigger$/)
  })

  test('the email addresses of approvers are visible to callers who may view the members', async () => {
    const named = (approval: string) =>
      shop(organization, `  live:\n    type: production\n    approval: ${approval}\n`)
    const byAddress = named(`{from: {users: [${administrator.email}]}}`)
    const { id: organization_id } = await db
      .selectFrom('organizations')
      .select('id')
      .where('name', '=', organization)
      .executeTakeFirstOrThrow()
    await applied(byAddress)
    const editor = await createPerson(db)
    const { id: role_id } = await db
      .insertInto('roles')
      .values({
        organization_id,
        name: 'Editors',
        permissions: ['organization', 'project', 'environment'].flatMap((one) => [
          `${one}:view`,
          `${one}:edit`,
        ]),
      })
      .returning('id')
      .executeTakeFirstOrThrow()
    await db.insertInto('grants').values({ user_id: editor.id, role_id, organization_id }).execute()
    const exportAs = async ({ token }: { token: string }) => {
      const url = `/organizations/${organization_id}/export?project=Shop`
      const { status, text } = await api.request('GET', url, { token })
      assert.equal(status, 200, text)
      return text
    }
    assert.ok((await exportAs(administrator)).includes(`- ${administrator.email}`))
    const exported = await exportAs(editor)
    assert.match(exported, /type: production/)
    assert.doesNotMatch(exported, /approval|@/)
    for (const other of [byAddress, named('{required: 1}'), named('{from: {users: [ghost@example.com]}}')]) {
      const { status, body } = await apply(other, { dry_run: true }, editor)
      assert.equal(status, 403)
      assert.deepEqual(Object.keys(body.errors), ['environments.live'])
      assert.match(body.errors['environments.live'][0], /requires the permission member:view$/)
    }
    await applied(exported, {}, editor)
    assert.ok((await exportAs(administrator)).includes(`- ${administrator.email}`))
  })
})
