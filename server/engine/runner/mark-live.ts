// What a target stores when it has switched `current`, in the transaction that completes its step, and when it is not known
// whether it has.
import { sql } from 'kysely'
import { recordActivation, recordRevert } from '#model/live/deployments.ts'
import {
  type Disk,
  lockLive,
  type Release,
  readVersion,
  storeKnown,
  storeUnknown,
} from '#model/live/live-record.ts'
import { SWITCHES } from '#model/pipelines/built-in-steps.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { LiveBefore } from '#platform/database/tables.ts'
import type { Run } from './load-run.ts'

export function diskOf({ application, server }: Run): Disk {
  return { applicationId: application!.id, serverId: server.id }
}

/** Its release is live, and it remembers what was: another worker may have to revert to that. A repetition changes nothing. */
export async function markLive(trx: Transaction, run: Run): Promise<void> {
  const before = await describeRelease(trx, run, run.liveBefore?.release ?? null)
  await storeBefore(trx, run, before)
  const disk = diskOf(run)
  const release = releaseOf(run)
  await lockLive(trx, disk.applicationId)
  await recordActivation(trx, disk, { actionId: run.actionId, replaced: before.commit_sha })
  if (await isStored(trx, disk, release)) return
  if ((await readVersion(trx, disk)) === run.liveVersion) await storeKnown(trx, disk, release)
  else await storeUnknown(trx, disk, { reason: OVERTAKEN, targetId: run.targetId, candidate: release })
}

const OVERTAKEN = 'Another run stored what is live while this one switched.'

/**
 * The earlier release is live again, and that of this run is no longer one to roll back to. If another run has stored what
 * is live since, that stays.
 */
export async function markReverted(trx: Transaction, run: Run): Promise<void> {
  const disk = diskOf(run)
  const { release, action_id, commit_sha } = run.liveBefore!
  await storeBefore(trx, run, run.liveBefore!)
  await lockLive(trx, disk.applicationId)
  await recordRevert(trx, disk, run)
  if ((await readVersion(trx, disk)) === run.liveVersion) {
    const before = { releaseName: release!, commitSha: commit_sha }
    if (action_id !== null) await storeKnown(trx, disk, { ...before, actionId: action_id })
    else await storeUnknown(trx, disk, { reason: FOREIGN, targetId: run.targetId, candidate: null })
  }
  await sql`
    update releases_on_disk d set reverted = true, was_live = false
    where application_id = ${disk.applicationId} and server_id = ${disk.serverId} and release_name = ${run.releaseName}
      and not exists (select from live_releases live where live.application_id = d.application_id
        and live.server_id = d.server_id and live.release_name = d.release_name)`.execute(trx)
}

const FOREIGN = 'The release that was live before this run, and is again, is not one that Gantry knows.'

/** It may have switched, or not. */
export async function markUnknown(trx: Transaction, run: Run, reason: string): Promise<void> {
  const disk = diskOf(run)
  await lockLive(trx, disk.applicationId)
  await storeUnknown(trx, disk, { reason, targetId: run.targetId, candidate: releaseOf(run) })
}

/**
 * The target ends. If that is in the middle of a switch, what is live is not known. By its id alone: it may be one that
 * cannot be loaded.
 */
export async function markInterrupted(trx: Transaction, targetId: number): Promise<void> {
  const { rows } = await sql<Disk & Release & { releaseName: string | null }>`
    select p.application_id as "applicationId", t.server_id as "serverId", a.id as "actionId",
      coalesce(t.release_name, a.release_name) as "releaseName", a.commit ->> 'hash' as "commitSha"
    from targets t join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
    cross join lateral (
      select step ->> 'name' as name, step ->> 'status' as status from jsonb_array_elements(t.steps) as step
      where step ->> 'started_at' is not null order by (step ->> 'order')::int desc limit 1
    ) as last
    where t.id = ${targetId} and p.application_id is not null
      and last.name = any(${SWITCHES}::text[]) and last.status <> 'completed'`.execute(trx)
  const [found] = rows
  if (!found) return
  const { applicationId, serverId, releaseName, ...release } = found
  const candidate = releaseName === null ? null : { ...release, releaseName }
  await lockLive(trx, applicationId)
  await storeUnknown(trx, { applicationId, serverId }, { reason: INTERRUPTED, targetId, candidate })
}

const INTERRUPTED = 'The run ended during the switch.'

function releaseOf({ actionId, releaseName, commit }: Run): Release {
  return { actionId, releaseName: releaseName!, commitSha: commit?.hash ?? null }
}

async function isStored(
  trx: Transaction,
  { applicationId, serverId }: Disk,
  { actionId, releaseName }: Release,
): Promise<boolean> {
  const { rows } = await sql`
    select from live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and action_id = ${actionId}
      and release_name = ${releaseName}`.execute(trx)
  return rows.length > 0
}

async function storeBefore(trx: Transaction, { targetId }: Run, before: LiveBefore): Promise<void> {
  await sql`
    update targets set live_before = ${JSON.stringify(before)} where id = ${targetId}
      and (live_before is null or live_before ->> 'release' is distinct from ${before.release})`.execute(trx)
}

/** Which action made it live on this server, if Gantry knows. */
export async function describeRelease(
  trx: Transaction,
  run: Run,
  release: string | null,
): Promise<LiveBefore> {
  const unknown = { release, action_id: null, commit_sha: null }
  if (release === null) return unknown
  const { applicationId, serverId } = diskOf(run)
  const { rows } = await sql<Omit<LiveBefore, 'release'>>`
    select action_id, commit_sha from live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and release_name = ${release}
    union all
    select last_action_id, last_commit_sha from unknown_live_releases
    where application_id = ${applicationId} and server_id = ${serverId} and last_release_name = ${release}
    union all
    (select a.id, a.commit ->> 'hash' from targets t
      join actions a on a.id = t.action_id join pipelines p on p.id = a.pipeline_id
      where t.release_name = ${release} and t.server_id = ${serverId} and p.application_id = ${applicationId}
      order by a.id desc limit 1)
    limit 1`.execute(trx)
  return rows[0] ? { release, ...rows[0] } : unknown
}
