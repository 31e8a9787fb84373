import assert from 'node:assert/strict'
import { at, type Drive } from './recorder.ts'

/** An organization and everything in it, from creation to removal; what it returns is the organization. */
export async function driveInventory({ admin }: Drive, sample: { repository: string; root: string }) {
  const { id: organizationId } = await admin.post('/organizations', { body: { name: 'Temporary' } })
  const organization = at({ id: organizationId })
  await admin.get('/organizations')
  await admin.get('/organizations/{id}', organization)
  await admin.put('/organizations/{id}', { ...organization, body: { name: 'Contemporary' } })

  const { id: projectId } = await admin.post('/organizations/{id}/projects', {
    ...organization,
    body: { name: 'Shop' },
  })
  const project = at({ id: projectId })
  await admin.get('/organizations/{id}/projects', organization)
  await admin.get('/projects/{id}', project)
  await admin.put('/projects/{id}', { ...project, body: { logo_url: null } })

  const { id: environmentId } = await admin.post('/projects/{id}/environments', {
    ...project,
    body: { name: 'Staging', type: 'staging' },
  })
  const environment = at({ id: environmentId })
  await admin.get('/projects/{id}/environments', project)
  await admin.get('/environments/{id}', environment)
  await admin.put('/environments/{id}', { ...environment, body: { description: 'For trying things out' } })
  const freeze = { name: 'Holidays', reason: 'Closed', starts_at: '2099-12-24T00:00:00Z' }
  const { id: freezeId } = await admin.post('/environments/{id}/freezes', { ...environment, body: freeze })
  await admin.get('/environments/{id}/freezes', environment)
  await admin.get('/freezes/{id}', at({ id: freezeId }))
  await admin.put('/freezes/{id}', { ...at({ id: freezeId }), body: { name: 'Winter' } })
  await admin.delete('/freezes/{id}', at({ id: freezeId }))
  const wide = await admin.post('/organizations/{id}/freezes', { ...organization, body: freeze })
  await admin.get('/organizations/{id}/freezes', organization)
  await admin.delete('/freezes/{id}', at({ id: wide.id }))
  await admin.post('/environments/{id}/archive', environment)
  await admin.post('/environments/{id}/unarchive', environment)

  const { id: credentialId } = await admin.post('/organizations/{id}/credentials', {
    ...organization,
    body: { name: 'Key', provider_code: 'ssh', generate: true },
  })
  const credential = at({ id: credentialId })
  await admin.get('/organizations/{id}/credentials', organization)
  await admin.get('/credentials/{id}', credential)
  await admin.put('/credentials/{id}', { ...credential, body: { name: 'Deploy key' } })
  await admin.post('/credentials/{id}/check', {
    ...credential,
    body: { host: '127.0.0.1', port: 9, user: 'nobody' },
  })
  await admin.delete('/credentials/{id}', credential)

  const { id: serverId } = await admin.post('/environments/{id}/servers', {
    ...environment,
    body: { name: 'here', provider_code: 'local', root_directory: sample.root },
  })
  const server = at({ id: serverId })
  await admin.get('/environments/{id}/servers', environment)
  await admin.get('/servers/{id}', server)
  await admin.put('/servers/{id}', { ...server, body: { max_parallel_actions: 2 } })
  await admin.post('/servers/{id}/check', server)
  const tried = await admin.post('/servers/{id}/try-health-check', {
    ...server,
    body: { health_check: { type: 'tcp', port: 9, timeout_seconds: 1 } },
  })
  assert.equal(tried.healthy, false)

  const inspected = await admin.post('/repositories/inspect', {
    body: { repository: sample.repository, environment_id: environmentId },
  })
  assert.equal(inspected.default_branch, 'main')
  const { id: applicationId } = await admin.post('/environments/{id}/applications', {
    ...environment,
    body: { name: 'web', repository: sample.repository },
  })
  const application = at({ id: applicationId })
  await admin.get('/environments/{id}/applications', environment)
  await admin.get('/applications/{id}', application)
  await admin.put('/applications/{id}', { ...application, body: { default_branch: 'main' } })
  const applicationToServer = at({ id: applicationId, child_id: serverId })
  const serverToApplication = at({ id: serverId, child_id: applicationId })
  await admin.put('/resource-links/application/{id}/server/{child_id}', applicationToServer)
  await admin.delete('/resource-links/application/{id}/server/{child_id}', applicationToServer)
  await admin.put('/resource-links/server/{id}/application/{child_id}', serverToApplication)
  const [live] = await admin.get('/applications/{id}/live', {
    params: { path: { id: applicationId }, query: { contains: '1a2b3c4' } },
  })
  assert.equal(live!.contains_reason, 'nothing_live')
  const [onDisk] = await admin.get('/applications/{id}/releases', application)
  assert.deepEqual(onDisk!.releases, [])
  const { deployments } = await admin.get('/applications/{id}/insights', {
    params: { path: { id: applicationId }, query: { from: '2026-01-01', to: '2026-01-02' } },
  })
  assert.deepEqual(deployments, { count: 0, per_day: 0 })
  const { days } = await admin.get('/environments/{id}/insights', environment)
  assert.equal(days.length, 30)

  const { id: variableId } = await admin.post('/applications/{id}/variables', {
    ...application,
    body: { name: 'REGION', value: 'eu' },
  })
  const variable = at({ id: applicationId, variable_id: variableId })
  await admin.get('/applications/{id}/variables', application)
  await admin.get('/applications/{id}/variables/{variable_id}', variable)
  await admin.put('/applications/{id}/variables/{variable_id}', { ...variable, body: { value: 'us' } })
  await admin.delete('/applications/{id}/variables/{variable_id}', variable)

  const { id: pipelineId } = await admin.post('/pipelines/application/{resource_id}', {
    ...at({ resource_id: applicationId }),
    body: { name: 'Deploy', operation: 'deploy' },
  })
  const pipeline = at({ id: pipelineId })
  await admin.get('/pipelines/application/{resource_id}', at({ resource_id: applicationId }))
  await admin.get('/pipelines/{id}', pipeline)
  await admin.put('/pipelines/{id}', { ...pipeline, body: { queue_policy: 'latest' } })
  const { id: stepId } = await admin.post('/pipelines/{id}/steps', {
    ...pipeline,
    body: { name: 'migrate', command: 'true', trigger_after: 'build-application' },
  })
  const step = at({ id: pipelineId, step_id: stepId })
  await admin.get('/pipelines/{id}/steps', pipeline)
  await admin.get('/pipelines/{id}/steps/{step_id}', step)
  await admin.put('/pipelines/{id}/steps/{step_id}', { ...step, body: { timeout_seconds: 60 } })
  await admin.delete('/pipelines/{id}/steps/{step_id}', step)

  const document = await admin.get('/organizations/{id}/export', {
    params: { path: { id: organizationId }, query: { project: 'Shop' } },
  })
  await admin.post('/apply', { body: { document, dry_run: true } })

  await admin.delete('/pipelines/{id}', pipeline)
  await admin.delete('/resource-links/server/{id}/application/{child_id}', serverToApplication)
  await admin.delete('/applications/{id}', application)
  await admin.delete('/servers/{id}', server)
  await admin.delete('/environments/{id}', environment)
  await admin.delete('/projects/{id}', project)
  await admin.get('/organizations/{id}/audit', organization)
  await admin.get('/organizations/{id}/audit/export', organization)
  await admin.delete('/organizations/{id}', organization)
}
