import { sql } from 'kysely'
import { recordAudit } from '#access/audit/record.ts'
import type { LiveReading } from '#model/deploy/live-reading.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { recordActivation, recordRevert } from './deployments.ts'
import { judgeReading, type Verdict } from './judge-reading.ts'
import { type Disk, liveVersion, lockLive, storeKnown, storeNothing, storeUnknown } from './live-record.ts'

const SERVICE = { userId: null, ipAddress: null, requestId: null }

/**
 * `version`: of the record, read before the server was asked. `interrupted`: the target whose switch was interrupted, if one
 * was; while it runs, what it made live is stored with its own progress.
 */
export type ReadLive = Disk & {
  reading: LiveReading
  version: string
  interrupted?: { targetId: number; isRunning: boolean }
}

/**
 * Stores what was read from a server, unless it agrees with what is stored, or that has changed since before the server was
 * asked. Everything that differs from what was known is in the audit log. Returns what the reading means, and whether
 * what is stored has changed.
 */
export async function storeReading(
  db: Database,
  { reading, version, interrupted, ...disk }: ReadLive,
): Promise<{ verdict: Verdict; isChanged: boolean }> {
  const verdict = await judgeReading(db, disk, reading)
  const isOwn = verdict.kind === 'known' && verdict.targetId === interrupted?.targetId
  if (isOwn && interrupted?.isRunning) return { verdict, isChanged: false }
  const isChanged = await db.transaction().execute(async (trx) => {
    await lockLive(trx, disk.applicationId)
    const stored = await readStored(trx, disk)
    if (!stored || stored.version !== version || agrees(stored, verdict)) return false
    if (interrupted) await recordSettled(trx, disk, interrupted.targetId, verdict)
    if (verdict.kind === 'known') await storeKnown(trx, disk, verdict.release)
    else if (verdict.kind === 'nothing') await storeNothing(trx, disk)
    else {
      const { reason } = verdict
      await storeUnknown(trx, disk, { reason, targetId: interrupted?.targetId ?? null, candidate: null })
    }
    if (!stored.isUnknown || verdict.kind !== 'unknown') await audit(trx, stored, verdict)
    return true
  })
  return { verdict, isChanged }
}

/**
 * The interrupted switch turns out to have happened, at the latest when it was interrupted. Of a run that reverts, another
 * release shows that it has.
 */
async function recordSettled(
  trx: Transaction,
  disk: Disk,
  targetId: number,
  verdict: Verdict,
): Promise<void> {
  if (verdict.kind !== 'known') return
  const { rows } = await sql<{ actionId: number; replaced: string | null; at: string; isReverting: boolean }>`
    select t.action_id as "actionId", unknown.last_commit_sha as replaced,
      coalesce(unknown.since, clock_timestamp()) as at,
      jsonb_path_exists(t.steps, '$[*] ? (@.name == "revert-release" && @.started_at != null)') as "isReverting"
    from targets t left join unknown_live_releases unknown
      on unknown.application_id = ${disk.applicationId} and unknown.server_id = ${disk.serverId}
    where t.id = ${targetId}`.execute(trx)
  const [found] = rows
  if (!found) return
  const { isReverting, replaced, actionId } = found
  const at = sql`${found.at}`
  if (verdict.targetId === targetId) await recordActivation(trx, disk, { actionId, replaced, at })
  else if (isReverting) await recordRevert(trx, disk, { actionId, at })
}

type Stored = {
  version: string
  releaseName: string | null
  isUnknown: boolean
  reason: string | null
  application: { id: number; name: string; organizationId: number }
  server: string
}

async function readStored(trx: Transaction, { applicationId, serverId }: Disk): Promise<Stored | undefined> {
  const { rows } = await sql<Stored>`
    select ${liveVersion(sql`app.id`, sql`s.id`)} as version, live.release_name as "releaseName",
      unknown.server_id is not null as "isUnknown", unknown.reason,
      json_build_object('id', app.id, 'name', app.name, 'organizationId', p.organization_id) as application, s.name as server
    from applications app join environments e on e.id = app.environment_id join projects p on p.id = e.project_id
    join servers s on s.id = ${serverId} and s.deleted_at is null
    left join live_releases live on live.application_id = app.id and live.server_id = s.id
    left join unknown_live_releases unknown on unknown.application_id = app.id and unknown.server_id = s.id
    where app.id = ${applicationId} and app.deleted_at is null`.execute(trx)
  return rows[0]
}

/** By the name of the release: which run switched to it last may be known better than its mark says. */
function agrees({ releaseName, isUnknown, reason }: Stored, verdict: Verdict): boolean {
  switch (verdict.kind) {
    case 'known':
      return verdict.release.releaseName === releaseName
    case 'nothing':
      return releaseName === null && !isUnknown
    case 'unknown':
      // A mark of another installation, for example after data was moved: the link has not changed.
      return isUnknown
        ? verdict.reason === reason
        : verdict.releaseName !== null && verdict.releaseName === releaseName
  }
}

async function audit(trx: Transaction, stored: Stored, verdict: Verdict): Promise<void> {
  const { application, server, isUnknown } = stored
  await recordAudit(trx, SERVICE, {
    organizationId: application.organizationId,
    verb: isUnknown ? 'settled' : 'corrected',
    subject: { type: 'application', id: application.id, name: application.name },
    before: { server, live: isUnknown ? 'unknown' : stored.releaseName },
    after: { server, live: liveText(verdict) },
  })
}

function liveText(verdict: Verdict): string | null {
  if (verdict.kind === 'known') return verdict.release.releaseName
  return verdict.kind === 'nothing' ? null : 'unknown'
}
