// What a target stores when it has switched `current`, in the transaction that completes its step.
import { sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import type { LiveBefore } from '#platform/database/tables.ts'
import { forgetLive, recordLive } from './live-releases.ts'
import type { Run } from './load-run.ts'

/** Its release is live, and it remembers what was: another worker may have to go back to that. A repetition changes nothing. */
export async function markLive(trx: Transaction, run: Run): Promise<void> {
  const before = await describeRelease(trx, run, run.liveBefore?.release ?? null)
  await trx
    .updateTable('targets')
    .set({ live_before: JSON.stringify(before) })
    .where('id', '=', run.targetId)
    .where(
      sql<boolean>`(live_before is null or live_before ->> 'release' is distinct from ${before.release})`,
    )
    .execute()
  const { actionId, releaseName, commit } = run
  await recordLive(trx, {
    ...diskOf(run),
    actionId,
    releaseName: releaseName!,
    commitSha: commit?.hash ?? null,
  })
}

/**
 * The earlier release is live again, and that of this run is no longer one to roll back to. If another run has switched
 * since, what that stored stays.
 */
export async function markReverted(trx: Transaction, run: Run): Promise<void> {
  const disk = diskOf(run)
  const { release, action_id, commit_sha } = run.liveBefore!
  const before = { ...disk, releaseName: release!, commitSha: commit_sha }
  const insteadOf = run.actionId
  if (action_id !== null) await recordLive(trx, { ...before, actionId: action_id }, { insteadOf })
  else await forgetLive(trx, disk, { insteadOf })
  await sql`
    update releases_on_disk d set reverted = true, was_live = false
    where application_id = ${disk.applicationId} and server_id = ${disk.serverId} and release_name = ${run.releaseName}
      and not exists (select from live_releases live where live.application_id = d.application_id
        and live.server_id = d.server_id and live.release_name = d.release_name)`.execute(trx)
}

function diskOf({ application, server }: Run) {
  return { applicationId: application!.id, serverId: server.id }
}

/** Which action made it live on this server, as far as Gantry knows. */
async function describeRelease(trx: Transaction, run: Run, release: string | null): Promise<LiveBefore> {
  const unknown = { release, action_id: null, commit_sha: null }
  if (release === null) return unknown
  const { applicationId, serverId } = diskOf(run)
  const { rows } = await sql<Omit<LiveBefore, 'release'>>`
    select action_id, commit_sha from live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and release_name = ${release}
    union all
    (select a.id, a.commit ->> 'hash' from targets t
      join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
      where t.release_name = ${release} and t.server_id = ${serverId} and p.application_id = ${applicationId}
      order by a.id desc limit 1)
    limit 1`.execute(trx)
  return rows[0] ? { release, ...rows[0] } : unknown
}
