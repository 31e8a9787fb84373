import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import { commitOutcomeUnknown, withQueryTimeout } from '#platform/database/client.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { Session } from '#platform/database/session.ts'
import { outcomeUnknown, unavailable } from '#platform/http/errors.ts'
import type { StoredCall } from './commit-calls.ts'
import type { CallToStore } from './insert-calls.ts'

/** Senders give up after ten seconds. */
const ANSWER_WITHIN_MS = 9_500
/** Short, because idle connections may be as silent as the one that was lost: each attempt uses up one. */
const ATTEMPT_MS = 400
const EVERY_MS = 100

/**
 * What became of calls whose commit failed. When the commit was sent and only its answer is missing, they are looked
 * up for as long as their senders wait. Throws the error itself when nothing can have been stored.
 */
export async function lookUpCalls(
  db: Database,
  calls: readonly CallToStore[],
  error: unknown,
  began: number,
): Promise<StoredCall[]> {
  const session = commitOutcomeUnknown(error)
  if (!session) throw error
  const deadline = began + ANSWER_WITHIN_MS
  do {
    const attempt = withQueryTimeout(ATTEMPT_MS, () => lookUpOnce(db, calls, session)).catch((failure) => {
      if (!isOutage(failure)) throw failure
    })
    // Connecting may take longer than there is time.
    const tooLate = pause(deadline - performance.now(), undefined, { ref: false })
    const found = await Promise.race([attempt, tooLate])
    if (found === 'nothing') throw Object.assign(unavailable(), { cause: error })
    if (found) return found
    await pause(EVERY_MS)
  } while (performance.now() < deadline)
  throw Object.assign(outcomeUnknown(), { cause: error })
}

/** Undefined while the session may still commit. Everything a batch stores becomes visible at once. */
async function lookUpOnce(
  db: Database,
  calls: readonly CallToStore[],
  { pid, startedAt }: Session,
): Promise<StoredCall[] | 'nothing' | undefined> {
  // Before the calls: a session that has ended by now has committed by now, or never will.
  const sessions = await sql`
    select from pg_stat_activity where pid = ${pid} and backend_start = ${startedAt}::timestamptz`.execute(db)
  const stored = await db
    .selectFrom('hook_requests')
    .select(['id', 'action_id', 'outcome'])
    .where('id', 'in', [...calls.map(({ record }) => record.id)])
    .execute()
  if (stored.length === 0) return sessions.rows.length === 0 ? 'nothing' : undefined
  const byId = new Map(stored.map((row) => [row.id, row]))
  return calls.map(({ record }) => {
    const row = byId.get(record.id)
    // Refused, or a duplicate that was to be recorded afterwards: nothing of it is stored.
    if (!row) return { kind: 'stale' }
    if (row.action_id === null) return { kind: 'recorded' }
    return { kind: row.outcome === 'duplicate' ? 'duplicate' : 'started', actionId: row.action_id }
  })
}
