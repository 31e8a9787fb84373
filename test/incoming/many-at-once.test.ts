// Many people change the same few things at once. They wait for each other, never in a circle: no answer is a fault
// of ours, and what is left in the end belongs together.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import { after, test } from 'node:test'
import { sql } from 'kysely'
import { pino } from 'pino'
import { openTestApp } from '#test/support/harness.ts'
import { untilLockWait } from '#test/support/until.ts'
import { addEnvironment, createMember, createTestTree } from '#test/support/world.ts'

const faults: string[] = []
const sink = new Writable({
  write(chunk, _encoding, done) {
    faults.push(String(chunk))
    done()
  },
})
const { db, request } = await openTestApp({ after }, { log: pino({ level: 'error' }, sink) })
const tree = await createTestTree(db)
const { environmentId } = tree
const neighbor = await addEnvironment(db, tree.owner.id, tree.projectId, tree.credentialId)
const people = await Promise.all(Array.from({ length: 4 }, () => createMember(db, tree, 'owner')))
const changed = await Promise.all(Array.from({ length: 2 }, () => createMember(db, tree, 'viewer')))
const { token } = tree.owner
const organization = `/organizations/${tree.organizationId}`
const [server, otherServer] = tree.serverIds

const AT_ONCE = 20
const FOR_MS = 2_000

const role = await made(`${organization}/roles`, { name: 'Some', permissions: ['hook:view'] })
const key = await made(`${organization}/credentials`, { name: 'Key', provider_code: 'ssh', generate: true })
const step = await made(`/pipelines/${tree.pipelineId}/steps`, { name: 'warm-up', command: 'true' })
const variable = await made(`/applications/${tree.applicationId}/variables`, { name: 'REGION', value: 'eu' })
const hook = await made(`/pipelines/${tree.pipelineId}/hooks/incoming`, { name: 'Push' })

let counter = 0
const name = () => `Thing ${++counter}`
const any = <Thing>(things: readonly Thing[]): Thing => things[Math.floor(Math.random() * things.length)]!
const links = [
  `/resource-links/application/${tree.applicationId}/server/${otherServer}`,
  `/resource-links/server/${otherServer}/application/${tree.applicationId}`,
]
const member = () => `${organization}/members/${any(changed).id}`
const places = [
  {},
  { project_id: tree.projectId },
  { environment_id: environmentId },
  { environment_id: neighbor.environmentId },
]
const grants = () =>
  places.filter(() => Math.random() < 0.5).map((place) => ({ role: any(['owner', 'viewer']), ...place }))
const known: Record<
  'servers' | 'pipelines' | 'applications' | 'environments' | 'credentials' | 'projects',
  number[]
> = {
  servers: [server!, otherServer!],
  pipelines: [tree.pipelineId, tree.serverPipelineId],
  applications: [tree.applicationId],
  environments: [environmentId, neighbor.environmentId],
  credentials: [key.id],
  projects: [tree.projectId],
}
/** Those that were there in the beginning, and a few that have come since. */
const recent = (kind: keyof typeof known) => [...known[kind].slice(0, 2), ...known[kind].slice(-3)]
type Wish = [method: string, url: string, body?: object, keep?: keyof typeof known]

const sshServer = () => ({
  provider_code: 'ssh',
  host: 'a.example.com',
  login_name: 'deploy',
  root_directory: '/srv',
})
const linked = () =>
  recent('servers')
    .filter(() => Math.random() < 0.5)
    .map((resource_id) => ({ resource_type: 'server', resource_id }))

/** What one of them does next. */
const WISHES: (() => Wish)[] = [
  () => ['PUT', organization, { name: name() }],
  () => ['PUT', `/projects/${tree.projectId}`, { name: name() }],
  () => ['PUT', `/environments/${any(recent('environments'))}`, { name: name() }],
  () => ['PUT', `/environments/${any(recent('environments'))}`, { description: name() }],
  () => ['POST', `/environments/${neighbor.environmentId}/${any(['archive', 'unarchive'])}`],
  () => ['PUT', `/servers/${any(recent('servers'))}`, { name: name(), credential_id: key.id }],
  () => ['PUT', `/applications/${tree.applicationId}`, { name: name(), linked_resources: linked() }],
  () => ['PUT', `/applications/${tree.applicationId}/variables/${variable.id}`, { value: name() }],
  () => ['PUT', `/pipelines/${any(recent('pipelines'))}`, { run_after: [any(recent('pipelines'))] }],
  () => [
    'PUT',
    `/pipelines/${tree.pipelineId}/steps/${step.id}`,
    { command: name(), trigger_after: any([null, 'build-application']) },
  ],
  () => ['PUT', `/roles/${role.id}`, { name: name() }],
  () => ['PUT', `/credentials/${any(recent('credentials'))}`, { name: name() }],
  () => ['PUT', `/hooks/incoming/${hook.id}`, { name: name() }],
  () => ['PUT', member(), { grants: grants() }],
  () => ['PUT', member(), { grants: grants().reverse() }],
  () => ['PUT', any(links)],
  () => ['DELETE', any(links)],
  () => [
    'POST',
    `/environments/${environmentId}/servers`,
    { name: name(), ...sshServer(), credential_id: key.id },
    'servers',
  ],
  () => [
    'POST',
    `/pipelines/server/${any(recent('servers'))}`,
    { name: name(), operation: 'custom', run_after: [tree.pipelineId] },
    'pipelines',
  ],
  () => ['POST', `/pipelines/${any(recent('pipelines'))}/hooks/incoming`, { name: name() }],
  () => ['POST', `/pipelines/${any(recent('pipelines'))}/steps`, { name: name(), command: 'true' }],
  () => [
    'POST',
    `${organization}/credentials`,
    { name: name(), provider_code: 'ssh', generate: true },
    'credentials',
  ],
  () => [
    'POST',
    `/projects/${tree.projectId}/environments`,
    { name: name(), type: 'staging' },
    'environments',
  ],
  () => ['POST', `${organization}/projects`, { name: name() }, 'projects'],
  () => [
    'POST',
    `${organization}/invitations`,
    { email: any(['a@example.com', 'b@example.com']), role: 'viewer', ...any(places) },
  ],
  () => ['POST', `/pipelines/${any(recent('pipelines'))}/actions`, {}],
  () => ['DELETE', `/servers/${known.servers.slice(2).at(-1) ?? 999_999}?cascade=true`],
  () => ['DELETE', `/pipelines/${known.pipelines.slice(2).at(-1) ?? 999_999}?cascade=true`],
  () => ['DELETE', `/environments/${known.environments.slice(2).at(-1) ?? 999_999}?cascade=true`],
  () => ['DELETE', `/projects/${known.projects.slice(1).at(-1) ?? 999_999}?cascade=true`],
  () => ['DELETE', `/credentials/${known.credentials.slice(1).at(-1) ?? 999_999}`],
  () => ['GET', `${organization}/members`],
  () => ['GET', `${organization}/invitations`],
  () => ['GET', `${organization}/audit`],
]

test('no request fails with a 5xx or a deadlock', async () => {
  const end = performance.now() + FOR_MS
  const answers = new Map<string, number>()
  async function act(): Promise<void> {
    while (performance.now() < end) {
      const [method, url, body, keep] = any(WISHES)()
      const answer = await request(method, url, { token: any(people).token, body })
      const what = `${method} ${url.replaceAll(/\d+/g, '…')} ${answer.status}`
      answers.set(what, (answers.get(what) ?? 0) + 1)
      if (keep && answer.status === 201) known[keep].push(answer.body.id)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, act))
  assert.deepEqual(faults, [])
  assert.deepEqual(
    [...answers.keys()].filter((what) => / 5\d\d$/.test(what)),
    [],
  )
  assert.ok([...answers.keys()].some((what) => / 20\d$/.test(what)))
})

test('what remains is consistent', async () => {
  const { rows } = await sql<{ fault: string }>`
    select 'a link to a removed server' as fault from application_servers l
      join servers s on s.id = l.server_id where s.deleted_at is not null
    union all select 'a removed pipeline that is followed' from pipeline_run_after f
      join pipelines p on p.id in (f.pipeline_id, f.after_pipeline_id) where p.deleted_at is not null
    union all select 'a hook of a removed pipeline' from hooks h
      join pipelines p on p.id = h.pipeline_id where h.deleted_at is null and p.deleted_at is not null
    union all select 'a server in a removed environment' from environments e
      join servers s on s.environment_id = e.id where e.deleted_at is not null and s.deleted_at is null
    union all select 'an environment in a removed project' from environments e
      join projects p on p.id = e.project_id where p.deleted_at is not null and e.deleted_at is null
    union all select 'a removed credential in use' from servers s
      join credentials c on c.id = s.credential_id where c.deleted_at is not null and s.deleted_at is null
    union all select 'an unfinished run of a removed pipeline' from actions a
      join pipelines p on p.id = a.pipeline_id
      where p.deleted_at is not null and a.status not in ('completed', 'failed', 'skipped')
    union all select 'no owner' where not exists (select from grants
      where organization_id = ${tree.organizationId} and built_in_role = 'owner' and project_id is null)`.execute(
    db,
  )
  assert.deepEqual(rows, [])
})

test('locking an environment and its project takes the project first', async () => {
  const grants = [
    { role: 'viewer', environment_id: environmentId },
    { role: 'viewer', project_id: tree.projectId },
  ]
  // As somebody who changes the environment holds them, one after the other.
  const answer = await db.transaction().execute(async (trx) => {
    await sql`select from projects where id = ${tree.projectId} for no key update`.execute(trx)
    const pending = request('PUT', `${organization}/members/${changed[0]!.id}`, { token, body: { grants } })
    await untilLockWait(db)
    await sql`select from environments where id = ${environmentId} for no key update nowait`.execute(trx)
    return { pending }
  })
  assert.equal((await answer.pending).status, 200)
})

async function made(url: string, body: object): Promise<{ id: number }> {
  const answer = await request('POST', url, { token, body })
  assert.equal(answer.status, 201, answer.text)
  return answer.body
}
