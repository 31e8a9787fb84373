import type { Database } from '#platform/database/connect.ts'
import type { TestTree } from '#test/support/world.ts'

/** A pipeline of `steps` steps that do nothing, on so many local servers. Returns its id and theirs. */
export async function makeIdlePipeline(
  db: Database,
  tree: TestTree,
  folder: string,
  { steps, servers }: { steps: number; servers: number },
): Promise<{ pipelineId: number; serverIds: number[] }> {
  const made = { environment_id: tree.environmentId, created_by: tree.owner.id }
  const rows = await db
    .insertInto('servers')
    .values(
      Array.from({ length: servers }, (_, index) => ({
        ...made,
        name: `Here ${index + 1}`,
        provider_code: 'local' as const,
        root_directory: `${folder}/${index + 1}`,
      })),
    )
    .returning('id')
    .execute()
  const serverIds = rows.map(({ id }) => id)
  await db
    .insertInto('application_servers')
    .values(
      serverIds.map((server_id) => ({
        application_id: tree.applicationId,
        server_id,
        environment_id: tree.environmentId,
      })),
    )
    .execute()
  // Its secret is made up, and nothing here needs one.
  await db
    .updateTable('applications')
    .set({ credential_id: null })
    .where('id', '=', tree.applicationId)
    .execute()
  await db.deleteFrom('application_servers').where('server_id', 'in', tree.serverIds).execute()
  const pipeline = await db
    .insertInto('pipelines')
    .values({
      ...made,
      resource_type: 'application',
      application_id: tree.applicationId,
      name: 'Nothing',
      operation: 'configure',
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await db
    .insertInto('pipeline_steps')
    .values(
      Array.from({ length: steps }, (_, index) => ({
        pipeline_id: pipeline.id,
        position: index + 1,
        name: `nothing-${index + 1}`,
        command: 'true',
      })),
    )
    .execute()
  return { pipelineId: pipeline.id, serverIds }
}
