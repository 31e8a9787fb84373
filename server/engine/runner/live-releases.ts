// What is live on each server of an application: the run that switched there last, and its release.
import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import type { Disk } from './releases-on-disk.ts'

export type LiveRelease = Disk & {
  actionId: number
  releaseName: string
  commitSha: string | null
}

/**
 * From the moment a server serves it, even if later steps fail: it can be rolled back. Processes of an older release read
 * `live_action_id` instead; one writer at a time per application keeps it the newest action that is live anywhere.
 * `insteadOf`: only if this action is what is live there.
 */
export async function recordLive(
  trx: Transaction,
  live: LiveRelease,
  { insteadOf }: { insteadOf?: number } = {},
): Promise<void> {
  const { applicationId, serverId, releaseName } = live
  await sql`select from applications where id = ${applicationId} for no key update`.execute(trx)
  if (insteadOf !== undefined && !(await isLive(trx, live, insteadOf))) return
  await sql`
    insert into live_releases (application_id, server_id, action_id, release_name, commit_sha)
    values (${applicationId}, ${serverId}, ${live.actionId}, ${releaseName}, ${live.commitSha})
    on conflict (application_id, server_id) do update
    set action_id = excluded.action_id, release_name = excluded.release_name, commit_sha = excluded.commit_sha,
      since = excluded.since`.execute(trx)
  await sql`
    insert into releases_on_disk (application_id, release_name, server_id, on_disk, was_live)
    values (${applicationId}, ${releaseName}, ${serverId}, true, true)
    on conflict (application_id, release_name, server_id) do update set on_disk = true, was_live = true`.execute(
    trx,
  )
  await sql`
    update applications set live_action_id = newest.action_id
    from (select max(action_id) as action_id from live_releases where application_id = ${applicationId}) as newest
    where id = ${applicationId} and live_action_id is distinct from newest.action_id`.execute(trx)
}

/** What is live there is not known any more, unless another action has switched. */
export async function forgetLive(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  { insteadOf }: { insteadOf: number },
): Promise<void> {
  await sql`
    delete from live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and action_id = ${insteadOf}`.execute(
    trx,
  )
}

async function isLive(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  actionId: number,
): Promise<boolean> {
  const { rows } = await sql`
    select from live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and action_id = ${actionId}`.execute(
    trx,
  )
  return rows.length > 0
}
