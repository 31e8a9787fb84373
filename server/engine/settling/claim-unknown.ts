import { sql } from 'kysely'
import type { Disk } from '#model/live/live-record.ts'
import { IS_ONLINE } from '#model/workers/live-workers.ts'
import type { Database } from '#platform/database/connect.ts'

/** As many connections as one process opens for this at a time. */
const MAX_CLAIMED = 16

export type ClaimedServer = Disk & { folder: string }

/**
 * Servers that are due to be asked; the next time is `everySeconds` from now, whatever comes of it. Not those that were
 * unlinked from the application, nor those whose run is still in progress: it asks them itself. A local server is asked by
 * workers of its machine; without a name, while all workers share one.
 */
export async function claimUnknown(
  db: Database,
  { workerName = null, everySeconds }: { workerName?: string | null; everySeconds: number },
): Promise<ClaimedServer[]> {
  const { rows } = await sql<ClaimedServer>`
    with due as materialized (
      select unknown.application_id, unknown.server_id, app.folder
      from unknown_live_releases unknown
      join application_servers link using (application_id, server_id)
      join applications app on app.id = unknown.application_id and app.deleted_at is null
      join servers s on s.id = unknown.server_id and s.deleted_at is null
      left join targets t on t.id = unknown.target_id
      where unknown.try_at <= now() and coalesce(t.status in ('completed', 'failed', 'skipped'), true)
        and (s.provider_code <> 'local' or ${workerName}::text is null or s.worker_name = ${workerName}
          or s.worker_name is null and (t.worker_name = ${workerName} or not exists (
            select from workers where ${IS_ONLINE} and name <> ${workerName})))
      order by unknown.try_at limit ${MAX_CLAIMED}::int
      for update of unknown skip locked
    )
    update unknown_live_releases unknown set try_at = now() + ${everySeconds}::int * interval '1 second' from due
    where unknown.application_id = due.application_id and unknown.server_id = due.server_id
    returning unknown.application_id as "applicationId", unknown.server_id as "serverId", due.folder`.execute(
    db,
  )
  return rows
}

/** Why it is still unknown. Does not count as a change of what is known. */
export async function storeReason(
  db: Database,
  { applicationId, serverId }: Disk,
  reason: string,
): Promise<void> {
  await sql`
    update unknown_live_releases set reason = ${reason}
    where application_id = ${applicationId} and server_id = ${serverId} and reason <> ${reason}`.execute(db)
}
