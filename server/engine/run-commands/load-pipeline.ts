import { sql } from 'kysely'
import { loadDefinitions } from '#model/pipelines/load-definitions.ts'
import type { PipelineDefinition } from '#model/pipelines/plan.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Deployment } from '#platform/database/tables.ts'

/** A pipeline as it is now, with what starting a run of it takes. */
export type RunnablePipeline = {
  definition: PipelineDefinition
  credentialId: number | null
  /** What it deploys; null for every other operation. */
  application: DeployedApplication | null
}

export type DeployedApplication = {
  id: number
  repository: string
  defaultBranch: string
  provider: string | null
  liveActionId: number | null
}

export async function loadPipeline(db: Database, id: number): Promise<RunnablePipeline | undefined> {
  const definition = (await loadDefinitions(db, [id])).get(id)
  if (!definition) return undefined
  const { rows } = await sql<DeployedApplication & { credentialId: number | null }>`
    select application.id, application.repository, application.default_branch as "defaultBranch",
      application.live_action_id as "liveActionId", application.credential_id as "credentialId",
      credential.provider_code as provider
    from pipelines p
    join applications application on application.id = p.application_id
    left join credentials credential on credential.id = application.credential_id
    where p.id = ${id}`.execute(db)
  const application = rows[0] ?? null
  return {
    definition,
    credentialId: application?.credentialId ?? null,
    application: definition.operation === 'deploy' ? application : null,
  }
}

/** What a deploy says of itself, with the repository that the application has today. */
export function deploymentOf(
  { repository, provider }: DeployedApplication,
  type: string,
  source: { source_type: string; source_ref: string },
): Deployment {
  const { source_type, source_ref } = source
  return { type, source_type, source_ref, repository, provider_name: provider }
}
