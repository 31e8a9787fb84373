// The typed client drives every operation of the document against a running service, which executes real runs.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { createGantry } from '#client/index.ts'
import { openReceiver } from '#test/support/deliveries.ts'
import { ADMIN } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { drivePeople, driveSessions, driveSingleSignOn } from './operations/accounts.ts'
import { driveHooks } from './operations/hooks.ts'
import { driveInventory } from './operations/inventory.ts'
import { at, createRecorder, type Drive, type OpenApiDocument } from './operations/recorder.ts'
import { driveRuns } from './operations/runs.ts'

/** The only operations that need not succeed: this instance has no identity provider. */
const UNAVAILABLE = ['POST /session/oidc', 'POST /users/me/identities', 'DELETE /users/me/identities/{id}']

const world = await openRunWorld({ after }, { environment: { GANTRY_SAMPLE: 'true' } })
const receiver = await openReceiver({ after })
const url = world.processes[0]!.url!
const document = (await createGantry({ url }).get('/openapi.json')) as unknown as OpenApiDocument
const recorder = createRecorder(url, document)
const anyone = recorder.client()
const { access_token } = await anyone.post('/users/login', { body: ADMIN })
const drive: Drive = { anyone, admin: recorder.client({ token: access_token }), recorder }
const { admin } = drive
const sample = await findSample()

async function findSample() {
  const organization = (await admin.get('/organizations')).find(({ name }) => name !== 'Acme')!
  const [project] = await admin.get('/organizations/{id}/projects', at({ id: organization.id }))
  const [environment] = await admin.get('/projects/{id}/environments', at({ id: project!.id }))
  const [server] = await admin.get('/environments/{id}/servers', at({ id: environment!.id }))
  const [application] = await admin.get('/environments/{id}/applications', at({ id: environment!.id }))
  const [pipeline] = await admin.get(
    '/pipelines/application/{resource_id}',
    at({ resource_id: application!.id }),
  )
  return {
    organizationId: organization.id,
    pipelineId: pipeline!.id,
    serverId: server!.id,
    repository: application!.repository,
    root: join(world.folder, 'temporary'),
  }
}

suite('every operation of the document', () => {
  test('of the service itself', async () => {
    await anyone.get('/')
    await anyone.get('/healthz')
    await anyone.get('/readyz')
    assert.match(await admin.get('/metrics'), /^# HELP/)
    await anyone.get('/openapi.json')
    await anyone.get('/gantry.schema.json')
    await admin.get('/jobs/dead-letters')
    await admin.get('/diagnostics')
    const [worker] = await admin.get('/workers')
    const drained = { params: { path: { id: worker!.id } } }
    assert.equal((await admin.post('/workers/{id}/drain', drained)).draining, true)
    assert.equal((await admin.delete('/workers/{id}/drain', drained)).draining, false)
    await admin.get('/names', { params: { query: { type: 'pipeline' } } })
    await admin.get('/audit')
    await admin.get('/audit/export')
  })

  test('of runs and hooks', async () => {
    const id = await driveRuns(drive, sample)
    await admin.get('/actions/{action_id}', at({ action_id: id }))
    await driveHooks(drive, sample.pipelineId, receiver, sample.organizationId)
  })

  test('of organizations and what is in them', () => driveInventory(drive, sample))
  test('of people', () => drivePeople(drive, sample.organizationId))
  test('of single sign-on', () => driveSingleSignOn(drive))
  test('of sessions', () => driveSessions(drive))

  test('was called, and succeeded', () => {
    const isDone = (name: string) => {
      const statuses = recorder.called.get(name) ?? []
      return statuses.some((status) => status < 300) || (statuses.length > 0 && UNAVAILABLE.includes(name))
    }
    assert.deepEqual(
      recorder.operations.filter((name) => !isDone(name)),
      [],
    )
  })
})
