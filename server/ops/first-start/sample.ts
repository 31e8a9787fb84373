import { DEPLOY_STEPS } from '#model/pipelines/built-in-steps.ts'
import type { Transaction } from '#platform/database/connect.ts'

/** `sites`: where the local server stores what is deployed to it; null: without a server. */
export type SampleInput = { ownerId: number; sites: string | null; repository: string }

/** One of each, down to a deploy pipeline, so that a new user's first hook is one call away. */
export async function createSample(
  trx: Transaction,
  { ownerId, sites, repository }: SampleInput,
): Promise<{ pipelineId: number }> {
  const creator = { created_by: ownerId }
  const organization = await trx
    .insertInto('organizations')
    .values({ name: 'Sample organization', url_slug: 'sample-organization', owner_id: ownerId })
    .returning('id')
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('grants')
    .values({ user_id: ownerId, built_in_role: 'owner', organization_id: organization.id })
    .execute()
  const project = await trx
    .insertInto('projects')
    .values({ ...creator, organization_id: organization.id, name: 'Sample project' })
    .returning('id')
    .executeTakeFirstOrThrow()
  const environment = await trx
    .insertInto('environments')
    .values({
      project_id: project.id,
      type: 'development',
      name: 'Development',
      description: 'For trying out Gantry',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  const application = await trx
    .insertInto('applications')
    .values({
      ...creator,
      project_id: project.id,
      environment_id: environment.id,
      name: 'Hello Gantry',
      folder: 'hello-gantry',
      repository,
      default_branch: 'main',
      programming_language: 'html',
      build_command: 'sh build.sh',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  if (sites !== null) await createServer(trx, { ownerId, sites }, environment.id, application.id)
  const pipeline = await trx
    .insertInto('pipelines')
    .values({
      ...creator,
      environment_id: environment.id,
      resource_type: 'application',
      application_id: application.id,
      name: 'Deploy Hello Gantry',
      operation: 'deploy',
      on_failure: 'revert',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('pipeline_steps')
    .values(
      DEPLOY_STEPS.map((step, index) => ({
        ...step,
        pipeline_id: pipeline.id,
        position: index + 1,
        built_in: true,
      })),
    )
    .execute()
  return { pipelineId: pipeline.id }
}

async function createServer(
  trx: Transaction,
  { ownerId, sites }: { ownerId: number; sites: string },
  environmentId: number,
  applicationId: number,
): Promise<void> {
  const server = await trx
    .insertInto('servers')
    .values({
      created_by: ownerId,
      environment_id: environmentId,
      name: 'This machine',
      provider_code: 'local',
      root_directory: sites,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await trx
    .insertInto('application_servers')
    .values({ application_id: applicationId, server_id: server.id, environment_id: environmentId })
    .execute()
}
