import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { insertRow } from '#platform/database/rows.ts'

/** `sites`: where the local server stores what is deployed to it; null: without a server. */
export type SampleInput = { ownerId: number; sites: string | null; repository: string }

/** One of each, down to a deploy pipeline, so that a new user's first hook is one call away. */
export async function createSample(
  trx: Transaction,
  { ownerId, sites, repository }: SampleInput,
): Promise<{ pipelineId: number }> {
  const creator = { created_by: ownerId }
  const organization_id = await insertRow(trx, 'organizations', {
    name: 'Sample organization',
    url_slug: 'sample-organization',
    owner_id: ownerId,
  })
  const grant = { user_id: ownerId, built_in_role: 'owner', organization_id } as const
  await trx.insertInto('grants').values(grant).execute()
  const project_id = await insertRow(trx, 'projects', { ...creator, organization_id, name: 'Sample project' })
  const environment_id = await insertRow(trx, 'environments', {
    project_id,
    type: 'development',
    name: 'Development',
    description: 'For trying out Gantry',
  })
  const application_id = await insertRow(trx, 'applications', {
    ...creator,
    project_id,
    environment_id,
    name: 'Hello Gantry',
    folder: 'hello-gantry',
    repository,
    default_branch: 'main',
    programming_language: 'html',
    build_command: 'sh build.sh',
  })
  if (sites !== null) {
    const server_id = await insertRow(trx, 'servers', {
      ...creator,
      environment_id,
      name: 'This machine',
      provider_code: 'local',
      root_directory: sites,
    })
    await trx
      .insertInto('application_servers')
      .values({ application_id, server_id, environment_id })
      .execute()
  }
  const pipelineId = await insertRow(trx, 'pipelines', {
    ...creator,
    environment_id,
    resource_type: 'application',
    application_id,
    name: 'Deploy Hello Gantry',
    operation: 'deploy',
    on_failure: 'revert',
  })
  for (const [index, step] of DEPLOY_STEPS.entries())
    await insertRow(trx, 'pipeline_steps', {
      ...step,
      pipeline_id: pipelineId,
      position: index + 1,
      built_in: true,
    })
  return { pipelineId }
}
