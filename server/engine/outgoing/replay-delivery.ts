import { sql } from 'kysely'
import { DELIVERIES_CHANNEL } from '#model/events/fan-out.ts'
import type { Database } from '#platform/database/connect.ts'

export type ReplayOutcome =
  | { kind: 'sent-again'; actionId: number }
  /** Some process is trying it at this moment. */
  | { kind: 'under-way' }
  | { kind: 'switched-off' }
  | { kind: 'gone' }

/** Sends one delivery again, at once and whatever the order; the new records point to the given one. */
export function replayDelivery(db: Database, hookRequestId: string, userId: number): Promise<ReplayOutcome> {
  return db.transaction().execute(async (trx): Promise<ReplayOutcome> => {
    const { rows } = await sql<{
      hook_id: string
      event_id: number
      action_id: number
      is_under_way: boolean
      is_on: boolean
    }>`
      select d.hook_id, d.event_id, d.action_id, coalesce(d.leased_until > now(), false) as is_under_way,
        hooks.active and hooks.deleted_at is null as is_on
      from hook_requests r join deliveries d on d.hook_id = r.hook_id and d.event_id = r.event_id join hooks on hooks.id = d.hook_id
      where r.id = ${hookRequestId} for update of d`.execute(trx)
    const delivery = rows[0]
    if (!delivery) return { kind: 'gone' }
    if (!delivery.is_on) return { kind: 'switched-off' }
    if (delivery.is_under_way) return { kind: 'under-way' }
    await trx
      .updateTable('deliveries')
      .set({
        state: 'pending',
        attempts: 0,
        // Whoever still has the old claim decides nothing any more.
        leased_until: null,
        due_at: sql<string>`now()`,
        asked_by: userId,
        first_request_id: hookRequestId,
      })
      .where('hook_id', '=', delivery.hook_id)
      .where('event_id', '=', delivery.event_id)
      .execute()
    await sql`select pg_notify(${DELIVERIES_CHANNEL}, ${delivery.hook_id})`.execute(trx)
    return { kind: 'sent-again', actionId: delivery.action_id }
  })
}
