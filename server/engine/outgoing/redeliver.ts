import { type RawBuilder, sql } from 'kysely'
import { DELIVERIES_CHANNEL } from '#model/events/fan-out.ts'
import type { Database } from '#platform/database/connect.ts'
import { eventsFor } from './find-events.ts'

export const MOST_AT_ONCE = 50_000

export type RedeliverInput = { from: string; to: string; onlyFailed: boolean; dryRun: boolean }

export type RedeliverOutcome =
  | { kind: 'done'; deliveries: number }
  | { kind: 'too-many'; deliveries: number }
  | { kind: 'switched-off' }
  | { kind: 'gone' }

/**
 * Sends again what a hook is told of in a span of time; `onlyFailed`: what did not arrive, for whatever reason,
 * also because the hook was switched off. What is on its way already stays as it is. Each is due since it happened:
 * were they all due at one moment, every claim would have to sort what is left of them.
 */
export function redeliver(db: Database, hookId: string, wish: RedeliverInput): Promise<RedeliverOutcome> {
  return db.transaction().execute(async (trx): Promise<RedeliverOutcome> => {
    // Two at once would wait for each other's rows.
    if (!wish.dryRun) await sql`select from hooks where id = ${hookId} for no key update`.execute(trx)
    const hook = await findHook(trx, hookId)
    if (!hook) return { kind: 'gone' }
    const deliveries = await countUndelivered(trx, hook, wish)
    if (wish.dryRun) return { kind: 'done', deliveries }
    if (!hook.active) return { kind: 'switched-off' }
    if (deliveries > MOST_AT_ONCE) return { kind: 'too-many', deliveries }
    await sql`
      insert into deliveries (hook_id, event_id, action_id, is_final, due_at)
      select ${hookId}::uuid, wanted.id, wanted.action_id, wanted.is_final, wanted.occurred_at
      ${undelivered(hook, wish)}
      order by wanted.id
      on conflict (hook_id, event_id) do update
        set state = 'pending', attempts = 0, leased_until = null, due_at = excluded.due_at, asked_by = null
        where deliveries.state <> 'pending'`.execute(trx)
    await sql`select pg_notify(${DELIVERIES_CHANNEL}, ${hookId})`.execute(trx)
    return { kind: 'done', deliveries }
  })
}

/** How many events since a hook was switched off did not arrive, with those that were waiting at that moment. */
export async function countMissed(db: Database, hookId: string, since: string): Promise<number> {
  const hook = await findHook(db, hookId)
  if (!hook) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) from deliveries d join events e on e.id = d.event_id
    where d.hook_id = ${hookId} and d.state = 'missed' and e.occurred_at < ${since}::timestamptz`.execute(db)
  const later = await countUndelivered(db, hook, { from: since, to: 'infinity', onlyFailed: true })
  return Number(rows[0]!.count) + later
}

type Told = { id: string; events: string[] }
type Span = Pick<RedeliverInput, 'from' | 'to' | 'onlyFailed'>

async function countUndelivered(db: Database, hook: Told, span: Span): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) ${undelivered(hook, span)}`.execute(db)
  return Number(rows[0]!.count)
}

/** Events as `wanted`. Pending ones are left out, not only left alone: whoever stores an attempt has them locked. */
function undelivered(hook: Told, span: Span): RawBuilder<unknown> {
  return sql`
    from (${eventsFor(hook, span)}) as wanted
    left join deliveries d on d.hook_id = ${hook.id} and d.event_id = wanted.id
    where d.state is null or d.state in ('failed', 'missed') or (not ${span.onlyFailed} and d.state <> 'pending')`
}

async function findHook(db: Database, id: string) {
  const row = await db
    .selectFrom('hooks')
    .select(['id', 'active', 'trigger_when'])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && { id: row.id, active: row.active, events: row.trigger_when.events as string[] }
}
