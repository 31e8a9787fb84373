import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import type { DeployedApplication } from './load-pipeline.ts'

/** A release that was made before, and the commit that it was made of. */
export type EarlierRelease = { commit: Commit & { hash: string }; releaseName: string | null }

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

/** The last one that was live before the live one. After a rollback that is the one that was left. */
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
