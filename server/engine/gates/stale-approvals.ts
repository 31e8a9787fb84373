import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'

// Of thousands of runs that wait, only those are compared again that people look at, and those are prepared first. Looking
// writes nothing: it notifies the workers that what it shows is no longer what would start, or not known yet.

const STALE_CHANNEL = 'stale_approvals'

/** Best effort: a person who still waits looks again. */
export async function notifyStale(db: Database, actionId: number): Promise<void> {
  await sql`select pg_notify(${STALE_CHANNEL}, ${String(actionId)})`.execute(db).catch(() => {})
}

export async function watchStale(
  { db, listener, onError }: { db: Database; listener: Listener; onError: (error: unknown) => void },
  onDue: () => void,
): Promise<void> {
  await listener.subscribe(STALE_CHANNEL, {
    onNotify: (actionId) => void lookAtStale(db, Number(actionId)).then(onDue, onError),
  })
}

/** Before all others, unless a worker looks at it already, or it does not wait for people. */
export async function lookAtStale(db: Database, actionId: number): Promise<void> {
  await sql`
    update approval_requests set due_at = least(due_at, clock_timestamp()), is_watched = true
    where action_id = ${actionId} and not is_watched
      and (due_at is null and expires_at is not null or due_at <= clock_timestamp())`.execute(db)
}
