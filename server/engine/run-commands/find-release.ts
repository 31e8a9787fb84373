import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import { nearest } from '#platform/nearest.ts'
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

/** The release with this name that a rollback may return to; like the one before the live one, it completed once. */
export async function findRelease(
  db: Database,
  application: DeployedApplication,
  name: string,
): Promise<EarlierRelease | undefined> {
  const { rows } = await sql<EarlierRelease>`
    select a.commit, a.release_name as "releaseName"
    from actions a join pipelines p on p.id = a.pipeline_id
    where a.release_name = ${name} and a.status = 'completed' and a.commit ->> 'hash' is not null
      and p.application_id = ${application.id} and p.operation = 'deploy'
    order by a.id desc limit 1`.execute(db)
  return rows[0]
}

const RECENT = 100
const SHOWN = 3

/** Why a name is not one to roll back to, with the recent names that resemble it most. */
export async function describeUnknownRelease(
  db: Database,
  application: DeployedApplication,
  live: EarlierRelease,
  name: string,
): Promise<string> {
  if (name === live.releaseName) return 'is the live release; name an earlier one'
  const { rows } = await sql<{ name: string }>`
    select recent.release_name as name
    from pipelines p
    cross join lateral (
      select id, release_name from actions
      where pipeline_id = p.id and status = 'completed' and release_name <> ${live.releaseName ?? ''}
        and commit ->> 'hash' is not null
      order by id desc limit ${RECENT}
    ) as recent
    where p.application_id = ${application.id} and p.operation = 'deploy'
    order by recent.id desc limit ${RECENT}`.execute(db)
  const known = [...new Set(rows.map((row) => row.name))]
  if (known.length === 0) return 'is not a release of this application; it has none to roll back to'
  // Somebody may give the commit, or the day.
  const containing = known.filter((one) => one.includes(name.toLowerCase()))
  const names = [...new Set([...containing, ...nearest(name, known, SHOWN)])].slice(0, SHOWN)
  return `is not a release to roll back to; the nearest are ${names.join(', ')}`
}
