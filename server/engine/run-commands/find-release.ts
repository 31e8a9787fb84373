import { type RawBuilder, sql } from 'kysely'
import { nearest } from '#client/nearest.ts'
import { wasReverted } from '#model/actions/reverted-releases.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import type { DeployedApplication } from './load-pipeline.ts'

/** A release that was made before, the commit that it was made of, and the action that made it. */
export type EarlierRelease = { actionId: number; commit: Commit & { hash: string }; releaseName: string }

/** Of an action's release: no server took it back. Good releases of before count, until a rollback to them fails. */
const isGood = (applicationId: number, name: RawBuilder<unknown> = sql`actions.release_name`) =>
  sql`not ${wasReverted(sql`${applicationId}`, name)}`

/** Names sort in the order of releases, runs almost: those that ran at the same time may have been faster. */
const NEWEST = 20

/** The newest one that is older than the live one, by its name, and whose run completed. */
export async function findReleaseBefore(
  db: Database,
  application: DeployedApplication,
  live: string,
): Promise<EarlierRelease | undefined> {
  const { rows } = await sql<EarlierRelease>`
    select earlier.id as "actionId", earlier.commit, earlier.release_name as "releaseName"
    from pipelines p
    cross join lateral (
      select id, commit, release_name from actions
      where pipeline_id = p.id and status = 'completed' and release_name < ${live} collate "C"
        and commit ->> 'hash' is not null and deployment ->> 'type' is distinct from 'rollback'
        and ${isGood(application.id)}
      order by id desc limit ${NEWEST}
    ) as earlier
    where p.application_id = ${application.id} and p.operation = 'deploy'
    order by earlier.release_name collate "C" desc, earlier.id limit 1`.execute(db)
  return rows[0]
}

/**
 * The release with this name that a rollback may return to: its run completed, or it is on the disk of a server and was
 * live there. A server may know it by a name of its own, if its first attempt was lost.
 */
export async function findRelease(
  db: Database,
  application: DeployedApplication,
  name: string,
): Promise<EarlierRelease | undefined> {
  const { rows } = await sql<EarlierRelease>`
    select a.id as "actionId", a.commit, a.release_name as "releaseName"
    from (
      select id from actions where release_name = ${name} and status = 'completed'
      union
      select t.action_id from targets t
      join releases_on_disk d on d.server_id = t.server_id and d.release_name = t.release_name
      where t.release_name = ${name} and d.application_id = ${application.id}
        and d.on_disk and d.was_live
    ) as known
    join actions a on a.id = known.id join pipelines p on p.id = a.pipeline_id
    where a.commit ->> 'hash' is not null and a.release_name is not null
      and ${isGood(application.id, sql`a.release_name`)}
      and p.application_id = ${application.id} and p.operation = 'deploy'
    order by a.id limit 1`.execute(db)
  return rows[0]
}

const RECENT = 100
const SHOWN = 3

/** Why a name is not one to roll back to, with the recent names that resemble it most. `live`: null when servers differ. */
export async function describeUnknownRelease(
  db: Database,
  application: DeployedApplication,
  live: string | null,
  name: string,
): Promise<string> {
  if (name === live) return 'is the live release; name an earlier one'
  const { rows } = await sql<{ name: string }>`
    select recent.release_name as name
    from pipelines p
    cross join lateral (
      select id, release_name from actions
      where pipeline_id = p.id and status = 'completed' and release_name <> ${live ?? ''}
        and commit ->> 'hash' is not null and ${isGood(application.id)}
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
