import { sql } from 'kysely'
import { loadDefinitions } from '#model/pipelines/plan.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Deployment } from '#platform/database/tables.ts'

/** A pipeline as it is now, with what starting a run of it takes. */
export type RunnablePipeline = NonNullable<Awaited<ReturnType<typeof loadPipeline>>>

export type DeployedApplication = {
  id: number
  repository: string
  defaultBranch: string
  provider: string | null
}

export async function loadPipeline(db: Database, id: number) {
  const definition = (await loadDefinitions(db, [id])).get(id)
  if (!definition) return undefined
  const { rows } = await sql<DeployedApplication & { credentialId: number | null }>`
    select application.id, application.repository, application.default_branch as "defaultBranch",
      application.credential_id as "credentialId", credential.provider_code as provider
    from pipelines p
    join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where p.id = ${id}`.execute(db)
  const application = rows[0] ?? null
  return {
    definition,
    /** Null for operations other than deploy, like the application: they use no source. */
    credentialId: (definition.operation === 'deploy' && application?.credentialId) || null,
    /** What it deploys. */
    application: definition.operation === 'deploy' ? application : null,
  }
}

/** The same pipeline with only some of its servers, in their order there. */
export function onServers(pipeline: RunnablePipeline, ids: Iterable<number>): RunnablePipeline {
  const wanted = new Set(ids)
  const servers = pipeline.definition.servers.filter(({ id }) => wanted.has(id))
  return { ...pipeline, definition: { ...pipeline.definition, servers } }
}

/** The description of a deploy, with the current repository of the application. */
export function deploymentOf(
  { repository, provider }: DeployedApplication,
  type: string,
  { source_type, source_ref }: { source_type: string; source_ref: string },
): Deployment {
  return { type, source_type, source_ref, repository, provider_name: provider }
}
