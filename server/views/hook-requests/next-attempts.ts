import { sql } from 'kysely'
import { later } from '#model/hooks/health.ts'
import { countsAgainst, isPaused } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'

type Attempt = { id: string; type: string; next_attempt_at: string | null }

type WaitingRow = {
  id: string
  is_waiting: boolean
  due_at: string
  open_until: string | null
  limited_until: string | null
}

/**
 * Attempts with the time at which their delivery is really tried again: after a pause of the hook or of its
 * rate budget, and only by the last attempt of a delivery that still waits. Records store the time that was planned when they were written.
 */
export async function withNextAttempts<Row extends Attempt>(
  db: Database,
  attempts: readonly Row[],
): Promise<Row[]> {
  const ids = attempts.filter((row) => row.next_attempt_at !== null).map((row) => row.id)
  if (ids.length === 0) return [...attempts]
  const { rows } = await sql<WaitingRow>`
    select r.id, d.due_at, s.open_until, (
        select max(b.paused_until) from rate_budgets b
        where ${sql.raw(isPaused('b'))} and ${sql.raw(countsAgainst('h', 'b'))}) as limited_until,
      d.state = 'pending' and d.last_request_id = r.id and h.active and h.deleted_at is null as is_waiting
    from hook_requests r join deliveries d on d.hook_id = r.hook_id and d.event_id = r.event_id
    join hooks h on h.id = r.hook_id left join hook_health s on s.hook_id = r.hook_id
    where r.id = any(${ids}::uuid[])`.execute(db)
  const waiting = new Map(rows.map((row) => [row.id, row]))
  return attempts.map((row) => ({ ...row, next_attempt_at: nextAttemptOf(row, waiting.get(row.id)) }))
}

/** Records whose delivery was pruned keep what they say. */
function nextAttemptOf({ next_attempt_at }: Attempt, delivery: WaitingRow | undefined): string | null {
  if (next_attempt_at === null || !delivery) return next_attempt_at
  const { due_at, open_until, limited_until } = delivery
  return delivery.is_waiting ? later(later(due_at, open_until), limited_until) : null
}
