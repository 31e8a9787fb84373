// Ids of other organizations, of other environments, of removed resources and of nothing at all are 404 and change
// nothing. The routes that take ids are read from the OpenAPI document, so that a new one cannot be forgotten here.
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { sql } from 'kysely'
import { invite } from '#test/support/accounts.ts'
import { type Answer, openTestApp } from '#test/support/harness.ts'
import {
  addEnvironment,
  createAction,
  createPerson,
  createTestTree,
  grantRole,
  type Person,
  type TestTree,
} from '#test/support/world.ts'

const api = await openTestApp({ after })
const { app, db, request } = api

type Schema = {
  $ref?: string
  maximum?: number
  format?: string
  anyOf?: Schema[]
  properties?: Record<string, Schema>
  items?: Schema
}
type Operation = {
  parameters?: { name: string; in: string }[]
  requestBody?: {
    content: { 'application/json'?: { schema: Schema; example?: object; examples?: Examples } }
  }
}
type Examples = Record<string, { value: object }>
const document = app.swagger() as unknown as {
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, Schema> }
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
)
const bodyOf = ({ requestBody }: Operation) => requestBody?.content['application/json']

const ours = await createTestTree(db)
const theirs = await createTestTree(db)
const neighbor = await addEnvironment(db, ours.owner.id, ours.projectId, ours.credentialId)
/** Can view the other organization as well: being visible does not make a resource belong to this one. */
const ownerOfBoth = await createPerson(db)
for (const { organizationId } of [ours, theirs])
  await grantRole(db, ownerOfBoth.id, 'owner', { organizationId })
const { token } = ours.owner
const hook = { name: 'Notify', target_url: 'https://example.com/' }
const hookId = await post(ours.owner, `/pipelines/${ours.pipelineId}/hooks/outgoing`, hook)
const nowhere = { ...hook, target_url: 'https://hooks.invalid/' }
const unreachableId = await post(ours.owner, `/pipelines/${ours.pipelineId}/hooks/outgoing`, nowhere)

let counter = 0
const name = () => `Resource ${++counter}`
const server = () => ({
  provider_code: 'ssh',
  host: '10.0.0.1',
  port: 1,
  login_name: 'deploy',
  root_directory: '/srv',
})
/** Gantry may not connect there, and says so without trying. */
const unreachable = { repository: 'git@10.0.0.1:acme/site.git' }
const application = () => ({ name: name(), repository: 'https://github.com/acme/site.git' })

/** Ids of one kind: one that is accepted, and others that are not. */
type Ids = { right: number; wrong: Record<string, number> }

const NOTHING = { 'nothing at all': 999_999_999, 'the largest id': Number.MAX_SAFE_INTEGER }
const credentials = await idsOf('credentials', createCredential)
/** Outgoing hooks send tokens. */
const tokens: Ids = { ...credentials, right: await createToken(ours) }
const servers: Ids = {
  right: ours.serverIds[1]!,
  wrong: {
    'another organization': theirs.serverIds[0]!,
    'another environment': neighbor.serverIds[0]!,
    'a removed one': await removed('servers', await createServer(ours)),
    ...NOTHING,
  },
}
/** Of the whole organization. */
const anyServers: Ids = {
  right: await createServer(ours),
  wrong: { ...servers.wrong, 'another environment': theirs.serverIds[1]! },
}
const pipelines: Ids = {
  right: ours.pipelineId,
  wrong: {
    'another organization': theirs.pipelineId,
    'another environment': neighbor.pipelineId,
    'a removed one': await removed('pipelines', await createPipeline(ours)),
    ...NOTHING,
  },
}
const applications: Ids = {
  right: ours.applicationId,
  wrong: {
    'another organization': theirs.applicationId,
    'another environment': neighbor.applicationId,
    ...NOTHING,
  },
}
const projects = await idsOf('projects', createProject)
const environments = await idsOf('environments', (tree) =>
  createEnvironment(tree, tree === ours ? projects.right : tree.projectId),
)
environments.wrong['another project'] = neighbor.environmentId
const people: Ids = {
  right: ours.owner.id,
  wrong: { 'another organization': theirs.owner.id, 'nothing at all': NOTHING['nothing at all'] },
}
const roles: Ids = {
  right: await createRole(ours),
  wrong: { 'another organization': await createRole(theirs), ...NOTHING },
}
const steps: Ids = {
  right: await createStep(ours.pipelineId),
  wrong: {
    'another organization': await createStep(theirs.pipelineId, theirs.owner),
    'another pipeline': await createStep(neighbor.pipelineId),
    'a removed one': await removedStep(),
    ...NOTHING,
  },
}
const actions: Ids = {
  right: await createAction(db, ours),
  wrong: {
    'another organization': await createAction(db, theirs),
    'another environment': await createAction(db, neighbor),
    ...NOTHING,
  },
}

type Case = {
  ids: Ids
  url: string
  body(id: number): object
  /** The field that the error names, if not the one in the OpenAPI document. */
  names?: string
  works: number
}
const linked = (id: number) => ({ linked_resources: [{ resource_type: 'server', resource_id: id }] })
const members = `/organizations/${ours.organizationId}/members`
const invitations = `/organizations/${ours.organizationId}/invitations`
const member = await createPerson(db)
await grantRole(db, member.id, 'viewer', { organizationId: ours.organizationId })
const grants = (more: object) => ({ grants: [{ role: 'viewer' }, { role: 'viewer', ...more }] })
const invited = (more: object) => ({ email: `new-${++counter}@example.com`, ...more })
const theirInvitation = await invite(api, theirs.organizationId, theirs.owner.token, {
  email: 'theirs@example.com',
  role: 'viewer',
})
const sshKey = await createCredential(ours)
const changed = { step: await createStep(ours.pipelineId), server: await createServer(ours) }
const environment = `/environments/${ours.environmentId}`

/** Every field of a body that holds an id, by route. */
const CASES: Record<string, Case> = {
  'POST /environments/{id}/servers credential_id': {
    ids: credentials,
    url: `${environment}/servers`,
    body: (credential_id) => ({ name: name(), ...server(), credential_id }),
    works: 201,
  },
  'PUT /servers/{id} credential_id': {
    ids: credentials,
    url: `/servers/${changed.server}`,
    body: (credential_id) => ({ credential_id }),
    works: 200,
  },
  'POST /environments/{id}/applications credential_id': {
    ids: credentials,
    url: `${environment}/applications`,
    body: (credential_id) => ({
      ...application(),
      repository: 'git@example.com:acme/site.git',
      credential_id,
    }),
    works: 201,
  },
  'POST /environments/{id}/applications linked_resources.0.resource_id': {
    ids: servers,
    url: `${environment}/applications`,
    body: (id) => ({ ...application(), ...linked(id) }),
    works: 201,
  },
  'PUT /applications/{id} credential_id': {
    ids: credentials,
    url: `/applications/${await createApplication()}`,
    body: (credential_id) => ({ repository: 'git@example.com:acme/site.git', credential_id }),
    works: 200,
  },
  'PUT /applications/{id} linked_resources.0.resource_id': {
    ids: servers,
    url: `/applications/${await createApplication()}`,
    body: linked,
    works: 200,
  },
  'POST /repositories/inspect credential_id': {
    ids: credentials,
    url: '/repositories/inspect',
    body: (credential_id) => ({ environment_id: ours.environmentId, ...unreachable, credential_id }),
    works: 200,
  },
  'POST /repositories/inspect environment_id': {
    // Callers choose the environment: one of another organization is invalid only to callers without access to it.
    ids: {
      right: ours.environmentId,
      wrong: { 'a removed one': environments.wrong['a removed one']!, ...NOTHING },
    },
    url: '/repositories/inspect',
    body: (environment_id) => ({ environment_id, ...unreachable }),
    works: 200,
  },
  'POST /credentials/{id}/check server_id': {
    ids: anyServers,
    url: `/credentials/${sshKey}/check`,
    body: (server_id) => ({ server_id }),
    works: 200,
  },
  'POST /servers/{id}/try-health-check application_id': {
    ids: applications,
    url: `/servers/${ours.serverIds[0]}/try-health-check`,
    body: (application_id) => ({ application_id, health_check: { type: 'tcp', port: 1 } }),
    works: 200,
  },
  'POST /pipelines/{id}/steps trigger_after': {
    ids: steps,
    url: `/pipelines/${ours.pipelineId}/steps`,
    body: (trigger_after) => ({ name: name(), command: 'true', trigger_after }),
    works: 201,
  },
  'PUT /pipelines/{id}/steps/{step_id} trigger_after': {
    ids: steps,
    url: `/pipelines/${ours.pipelineId}/steps/${changed.step}`,
    body: (trigger_after) => ({ trigger_after }),
    works: 200,
  },
  'POST /pipelines/application/{resource_id} run_after.0': {
    ids: pipelines,
    url: `/pipelines/application/${ours.applicationId}`,
    body: (id) => ({ name: name(), operation: 'custom', run_after: [id] }),
    works: 201,
  },
  'POST /pipelines/server/{resource_id} run_after.0': {
    ids: pipelines,
    url: `/pipelines/server/${ours.serverIds[0]}`,
    body: (id) => ({ name: name(), operation: 'custom', run_after: [id] }),
    works: 201,
  },
  'PUT /pipelines/{id} run_after.0': {
    ids: pipelines,
    url: `/pipelines/${await createPipeline(ours)}`,
    body: (id) => ({ run_after: [id] }),
    works: 200,
  },
  'POST /pipelines/{id}/actions rollback_from': {
    ids: actions,
    url: `/pipelines/${ours.pipelineId}/actions`,
    body: (rollback_from) => ({ type: 'rollback', rollback_from }),
    // It is known, but not live.
    works: 409,
  },
  'POST /pipelines/{id}/actions servers.0': {
    ids: servers,
    url: `/pipelines/${ours.pipelineId}/actions`,
    body: (id) => ({ servers: [id] }),
    works: 201,
  },
  'POST /pipelines/{id}/plan rollback_from': {
    ids: actions,
    url: `/pipelines/${ours.pipelineId}/plan`,
    body: (rollback_from) => ({ type: 'rollback', rollback_from }),
    // It is known, but not live.
    works: 409,
  },
  'POST /pipelines/{id}/plan servers.0': {
    ids: servers,
    url: `/pipelines/${ours.pipelineId}/plan`,
    body: (id) => ({ servers: [id] }),
    works: 200,
  },
  'POST /pipelines/{id}/hooks/outgoing credential_id': {
    ids: tokens,
    url: `/pipelines/${ours.pipelineId}/hooks/outgoing`,
    body: (credential_id) => ({ ...hook, name: name(), credential_id }),
    works: 201,
  },
  'PUT /hooks/outgoing/{hook_id} credential_id': {
    ids: tokens,
    url: `/hooks/outgoing/${hookId}`,
    body: (credential_id) => ({ credential_id }),
    works: 200,
  },
  'POST /hooks/outgoing/{hook_id}/preview action_id': {
    ids: actions,
    url: `/hooks/outgoing/${hookId}/preview`,
    body: (action_id) => ({ action_id }),
    works: 200,
  },
  'POST /hooks/outgoing/{hook_id}/test action_id': {
    ids: actions,
    url: `/hooks/outgoing/${unreachableId}/test`,
    body: (action_id) => ({ action_id }),
    works: 200,
  },
  'POST /organizations/{id}/invitations role_id': {
    ids: roles,
    url: invitations,
    body: (role_id) => invited({ role_id }),
    works: 201,
  },
  'POST /organizations/{id}/invitations project_id': {
    ids: projects,
    url: invitations,
    body: (project_id) => invited({ role: 'viewer', project_id }),
    works: 201,
  },
  'POST /organizations/{id}/invitations environment_id': {
    ids: environments,
    url: invitations,
    body: (environment_id) => invited({ role: 'viewer', project_id: projects.right, environment_id }),
    works: 201,
  },
  'PUT /organizations/{id}/members/{user_id} grants.0.role_id': {
    ids: roles,
    url: `${members}/${member.id}`,
    body: (role_id) => ({ grants: [{ role: 'viewer' }, { role_id }] }),
    names: 'grants.1.role_id',
    works: 200,
  },
  'PUT /organizations/{id}/members/{user_id} grants.0.project_id': {
    ids: projects,
    url: `${members}/${member.id}`,
    body: (project_id) => grants({ project_id }),
    names: 'grants.1.project_id',
    works: 200,
  },
  'PUT /organizations/{id}/members/{user_id} grants.0.environment_id': {
    ids: environments,
    url: `${members}/${member.id}`,
    body: (environment_id) => grants({ project_id: projects.right, environment_id }),
    names: 'grants.1.environment_id',
    works: 200,
  },
}

/** Who approves in an environment, a new one or an existing one: with ids of people and of roles. */
for (const [title, url, works, more] of [
  ['POST /projects/{id}/environments', `/projects/${ours.projectId}/environments`, 201, { type: 'staging' }],
  ['PUT /environments/{id}', `/environments/${ours.environmentId}`, 200, {}],
] as const)
  for (const [field, ids] of [
    ['user_ids', people],
    ['role_ids', roles],
  ] as const)
    for (const part of ['', '.0'])
      CASES[`${title} approval.from.${field}${part}`] = {
        ids,
        url,
        body: (id) => ({
          ...(works === 201 && { name: name() }),
          ...more,
          approval: { from: { roles: ['owner'], [field]: [id] } },
        }),
        names: `approval.from.${field}.0`,
        works,
      }

/** The second id of a path, by the name of its parameter. */
const second: Record<string, { first: number; wrong: number[] }> = {
  variable_id: {
    first: ours.applicationId,
    wrong: [await createVariable(theirs), await createVariable(ours, await createApplication())],
  },
  step_id: { first: ours.pipelineId, wrong: Object.values(steps.wrong) },
  invitation_id: { first: ours.organizationId, wrong: [theirInvitation.id, NOTHING['nothing at all']] },
  user_id: { first: ours.organizationId, wrong: [theirs.owner.id, NOTHING['nothing at all']] },
  'application child_id': { first: ours.applicationId, wrong: Object.values(servers.wrong) },
  'server child_id': {
    first: ours.serverIds[0]!,
    wrong: [theirs.applicationId, neighbor.applicationId, NOTHING['nothing at all']],
  },
  target_id: { first: actions.right, wrong: [await targetOf(actions.wrong['another organization']!)] },
}

/** Not bound to one organization: test/api/token-restrictions.test.ts covers what they accept. */
const ANYWHERE = /^POST \/users\/personal-access-tokens /
/** A UUID: dry-run-inputs.test.ts tries those of other hooks. */
const RECORDED_CALL = 'POST /hooks/incoming/{hook_id}/dry-run hook_request_id'

test('every id field of every request body is covered', () => {
  const fields = operations.flatMap(({ method, path, operation }) =>
    idFields(bodyOf(operation)?.schema).map((field) => `${method} ${path} ${field}`),
  )
  const covered = fields.filter((field) => !ANYWHERE.test(field) && field !== RECORDED_CALL)
  assert.deepEqual(covered.sort(), Object.keys(CASES).sort())
})

for (const [title, { ids, url, body, names, works }] of Object.entries(CASES)) {
  const [method, , field] = title.split(' ') as [string, string, string]
  suite(title, () => {
    for (const [what, id] of Object.entries(ids.wrong)) {
      test(`of ${what} is rejected by name, and changes nothing`, async () => {
        const before = await fingerprints()
        for (const person of [ours.owner, ownerOfBoth]) {
          const answer = await request(method, url, { token: person.token, body: body(id) })
          assert.deepEqual(
            [answer.status, Object.keys(answer.body.errors ?? {})],
            [404, [names ?? field]],
            answer.text,
          )
        }
        assert.deepEqual(await fingerprints(), before)
      })
    }

    test('of the right one is accepted', async () => {
      const answer = await request(method, url, { token, body: body(ids.right) })
      assert.equal(answer.status, works, answer.text)
    })
  })
}

suite('a path with two ids', () => {
  for (const { method, path, operation } of operations) {
    const [first, last] = (operation.parameters ?? []).filter(({ in: where }) => where === 'path')
    if (!first || !last) continue
    test(`${method} ${path} finds only what belongs together`, async () => {
      const kind = last.name === 'child_id' ? `${path.split('/')[2]} child_id` : last.name
      const at = second[kind]
      assert.ok(at, `add what ${kind} refers to`)
      const { example, examples = {} } = bodyOf(operation) ?? {}
      const body = example ?? Object.values(examples)[0]?.value
      const before = await fingerprints()
      for (const id of at.wrong) {
        const url: string = path
          .replace(`{${first.name}}`, String(at.first))
          .replace(`{${last.name}}`, String(id))
          .replace('{order}', '1')
        for (const person of [ours.owner, ownerOfBoth]) {
          const answer = await request(method, url, { token: person.token, body })
          assert.equal(answer.status, 404, `${url} ${answer.text}`)
        }
      }
      assert.deepEqual(await fingerprints(), before)
    })
  }
})

/** Dotted paths of id fields; the first item represents a whole list. */
function idFields(schema: Schema | undefined, path: string[] = []): string[] {
  if (!schema) return []
  const { $ref, anyOf, properties, items } = schema
  if ($ref) return idFields(document.components.schemas[$ref.split('/').at(-1)!], path)
  const isId =
    schema.maximum === Number.MAX_SAFE_INTEGER || schema.format === 'uuid' || /_ids?$/.test(path.at(-1) ?? '')
  return [
    ...(isId ? [path.join('.')] : []),
    ...(anyOf ?? []).flatMap((one) => idFields(one, path)),
    ...Object.entries(properties ?? {}).flatMap(([key, one]) => idFields(one, [...path, key])),
    ...idFields(items, [...path, '0']),
  ]
}

/** Fingerprints of everything that a rejected request might have changed. */
async function fingerprints(): Promise<object> {
  const tables = [
    ...['organizations', 'projects', 'environments', 'credentials', 'servers', 'applications', 'pipelines'],
    ...['application_servers', 'application_variables', 'pipeline_run_after', 'pipeline_steps', 'hooks'],
    ...[
      'users',
      'grants',
      'roles',
      'invitations',
      'invitation_grants',
      'audit_entries',
      'actions',
      'targets',
      'events',
    ],
  ]
  const columns = tables.map(
    (table) => `(select md5(string_agg(t::text, ',' order by t::text)) from ${table} t) as ${table}`,
  )
  const { rows } = await sql.raw<object>(`select ${columns.join()}`).execute(db)
  return rows[0]!
}

async function idsOf(kind: string, create: (tree: TestTree) => Promise<number>): Promise<Ids> {
  return {
    right: await create(ours),
    wrong: {
      'another organization': await create(theirs),
      'a removed one': await removed(kind, await create(ours)),
      ...NOTHING,
    },
  }
}

async function post(by: Person, url: string, body: object): Promise<number> {
  const answer: Answer = await request('POST', url, { token: by.token, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body.id
}

function createCredential({ owner, organizationId }: TestTree): Promise<number> {
  const body = { name: name(), provider_code: 'ssh', generate: true }
  return post(owner, `/organizations/${organizationId}/credentials`, body)
}

function createToken({ owner, organizationId }: TestTree): Promise<number> {
  const body = { name: name(), provider_code: 'github', token: 'a-token' }
  return post(owner, `/organizations/${organizationId}/credentials`, body)
}

function createServer({ owner, environmentId }: TestTree): Promise<number> {
  return post(owner, `/environments/${environmentId}/servers`, { name: name(), ...server() })
}

function createApplication(): Promise<number> {
  return post(ours.owner, `/environments/${ours.environmentId}/applications`, application())
}

function createPipeline({ owner, serverIds }: TestTree): Promise<number> {
  return post(owner, `/pipelines/server/${serverIds[0]}`, { name: name(), operation: 'custom' })
}

function createProject({ owner, organizationId }: TestTree): Promise<number> {
  return post(owner, `/organizations/${organizationId}/projects`, { name: name() })
}

function createEnvironment({ owner }: TestTree, projectId: number): Promise<number> {
  return post(owner, `/projects/${projectId}/environments`, { name: name(), type: 'staging' })
}

function createRole({ owner, organizationId }: TestTree): Promise<number> {
  return post(owner, `/organizations/${organizationId}/roles`, { name: name(), permissions: ['hook:view'] })
}

function createStep(pipelineId: number, by = ours.owner): Promise<number> {
  return post(by, `/pipelines/${pipelineId}/steps`, { name: name(), command: 'true' })
}

function createVariable({ owner, applicationId }: TestTree, of = applicationId): Promise<number> {
  return post(owner, `/applications/${of}/variables`, { name: `NAME_${++counter}`, value: 'x' })
}

async function removedStep(): Promise<number> {
  const id = await createStep(ours.pipelineId)
  const { status } = await request('DELETE', `/pipelines/${ours.pipelineId}/steps/${id}`, { token })
  assert.equal(status, 204)
  return id
}

async function removed(kind: string, id: number): Promise<number> {
  const { status, text } = await request('DELETE', `/${kind}/${id}`, { token })
  assert.equal(status, 204, text)
  return id
}

async function targetOf(actionId: number): Promise<number> {
  const { id } = await db
    .selectFrom('targets')
    .select('id')
    .where('action_id', '=', actionId)
    .executeTakeFirstOrThrow()
  return id
}
