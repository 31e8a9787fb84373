import { sql } from 'kysely'
import { loadDefinitions } from '#model/pipelines/plan.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit, Deployment } from '#platform/database/tables.ts'

/** A pipeline as it is now, with what starting a run of it takes. */
export type RunnablePipeline = NonNullable<Awaited<ReturnType<typeof loadPipeline>>>

export type DeployedApplication = {
  id: number
  repository: string
  defaultBranch: string
  provider: string | null
  liveActionId: number | null
}

export async function loadPipeline(db: Database, id: number) {
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

/** A release that was made before, and the commit that it was made of. */
type EarlierRelease = { commit: Commit & { hash: string }; releaseName: string | null }

/** Undefined when nothing was deployed yet. */
export async function findLiveRelease(
  db: Database,
  { liveActionId }: DeployedApplication,
): Promise<EarlierRelease | undefined> {
  if (liveActionId === null) return undefined
  const { rows } = await sql<EarlierRelease>`
    select commit, release_name as "releaseName" from actions
    where id = ${liveActionId} and commit ->> 'hash' is not null`.execute(db)
  return rows[0]
}

/** The last one that was live before the live one. After a rollback that is the one that was rolled back. */
export async function findReleaseBefore(
  db: Database,
  application: DeployedApplication,
  live: EarlierRelease,
): Promise<EarlierRelease | undefined> {
  const { rows } = await sql<EarlierRelease>`
    select earlier.commit, earlier.release_name as "releaseName"
    from pipelines p
    cross join lateral (
      select id, commit, release_name from actions
      where pipeline_id = p.id and status = 'completed' and release_name <> ${live.releaseName ?? ''}
        and commit ->> 'hash' is not null
      order by id desc limit 1
    ) as earlier
    where p.application_id = ${application.id} and p.operation = 'deploy'
    order by earlier.id desc limit 1`.execute(db)
  return rows[0]
}
