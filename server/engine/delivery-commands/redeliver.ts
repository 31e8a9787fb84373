import { type RawBuilder, sql } from 'kysely'
import { TEST_KIND } from '#engine/outgoing/build-context.ts'
import { IS_STRICT, waitingBehind } from '#model/events/delivery-order.ts'
import { eventKinds, matchingKind } from '#model/events/event-kinds.ts'
import { DELIVERIES_CHANNEL, deliverAgain } from '#model/events/fan-out.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { Status } from '#platform/database/tables.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { STATUSES } from '#platform/vocabulary.ts'

const MAX_DELIVERIES = 50_000
const DISABLED = conflict('This hook is disabled. Set `active` to true first.')

/** `onlyFailed`: those that were not delivered, for whatever reason, also because the hook was disabled. */
type TimeRange = { from: string; to: string; onlyFailed: boolean }
type RedeliverOutcome = { kind: 'done'; deliveries: number } | HttpProblem

/**
 * Of hooks that send strictly in order: by then, every claim that has not seen that this is pending again has committed, and
 * what it took is known to be in flight.
 */
const STRICT_DELAY = { ofOne: '2 seconds', ofMany: '5 seconds' }

type ListeningHook = { id: string; events: readonly string[] }

/**
 * Sends the events of a time range to a hook again. Pending deliveries stay as they are. Each is due at the time of its event:
 * if all were due at the same time, every claim would have to sort the rest of them.
 */
export function redeliver(
  db: Database,
  hookId: string,
  input: TimeRange & { dryRun: boolean },
): Promise<RedeliverOutcome> {
  return db.transaction().execute(async (trx): Promise<RedeliverOutcome> => {
    // Two at the same time would deadlock on each other's rows.
    if (!input.dryRun) await sql`select from hooks where id = ${hookId} for no key update`.execute(trx)
    const hook = await findHook(trx, hookId)
    if (!hook) return { kind: 'gone' }
    const deliveries = await countUndelivered(trx, hook, input)
    if (input.dryRun) return { kind: 'done', deliveries }
    if (!hook.active) return DISABLED
    if (deliveries > MAX_DELIVERIES) {
      const message = `selects ${deliveries} deliveries, more than the maximum of ${MAX_DELIVERIES}; use a shorter time range`
      return { kind: 'invalid', errors: { from: [message] } }
    }
    await sql`
      insert into deliveries (hook_id, event_id, action_id, is_final, is_redelivered, due_at)
      select ${hookId}::uuid, wanted.id, wanted.action_id, wanted.is_final, ${hook.isStrict},
        case when ${hook.isStrict} then clock_timestamp() + ${STRICT_DELAY.ofMany}::interval else wanted.occurred_at end
      ${undelivered(hook, input)}
      order by wanted.id
      on conflict (hook_id, event_id) do update
        set state = 'pending', attempts = 0, leased_until = null, due_at = excluded.due_at, asked_by = null, created_at = now(),
          is_redelivered = excluded.is_redelivered
        where deliveries.state <> 'pending'`.execute(trx)
    await sql`select pg_notify(${DELIVERIES_CHANNEL}, ${hookId})`.execute(trx)
    return { kind: 'done', deliveries }
  })
}

/** How many events were not delivered since a hook was disabled, including those pending at that moment. */
export async function countMissed(db: Database, hookId: string, since: string): Promise<number> {
  const hook = await findHook(db, hookId)
  if (!hook) return 0
  const { rows } = await sql<{ count: number }>`
    select count(*) from deliveries d join events e on e.id = d.event_id
    where d.hook_id = ${hookId} and d.state = 'missed' and e.occurred_at < ${since}::timestamptz`.execute(db)
  const later = await countUndelivered(db, hook, { from: since, to: 'infinity', onlyFailed: true })
  return Number(rows[0]!.count) + later
}

async function countUndelivered(db: Database, hook: ListeningHook, range: TimeRange): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) ${undelivered(hook, range)}`.execute(db)
  return Number(rows[0]!.count)
}

/**
 * The events that a hook subscribes to in a time range, as `wanted`, without those that need no redelivery. Pending deliveries
 * are excluded here, not only skipped later: storing attempts locks them.
 */
function undelivered(hook: ListeningHook, { from, to, onlyFailed }: TimeRange): RawBuilder<unknown> {
  const statuses = Object.keys(STATUSES) as Status[]
  const changes = [null, ...statuses].flatMap((previous) =>
    statuses
      .filter((status) => matchingKind(eventKinds(previous, status), hook.events))
      .map((status) => ({ previous: previous ?? NOT_YET_CREATED, status })),
  )
  return sql`
    from (
      select e.id, e.action_id, e.occurred_at, e.status in ('completed', 'failed', 'skipped') as is_final
      from hooks h
      join pipelines own on own.id = h.pipeline_id
      join events e on e.occurred_at >= ${from}::timestamptz and e.occurred_at < ${to}::timestamptz
      join actions a on a.id = e.action_id and a.type = h.action_type
      join pipelines p on p.id = a.pipeline_id
      where h.id = ${hook.id} and (p.id = own.id or h.trigger_when ->> 'scope' = 'resource'
          and (p.application_id = own.application_id or p.server_id = own.server_id))
        and ((coalesce(e.previous_status, ${NOT_YET_CREATED}), e.status) in (select * from unnest(
          ${changes.map((change) => change.previous)}::text[], ${changes.map((change) => change.status)}::text[]))
          or 'action.' || e.gate_event = any(${hook.events}::text[]))
    ) as wanted
    left join deliveries d on d.hook_id = ${hook.id} and d.event_id = wanted.id
    where d.state is null or d.state in ('failed', 'missed') or (not ${onlyFailed} and d.state <> 'pending')`
}

/** The status before a creation, in comparisons: in SQL nothing equals null. */
const NOT_YET_CREATED = ''

async function findHook(db: Database, id: string) {
  const row = await db
    .selectFrom('hooks')
    .select(['id', 'active', 'trigger_when', sql<boolean>`${sql.raw(IS_STRICT)}`.as('isStrict')])
    .where('id', '=', id)
    .where('deleted_at', 'is', null)
    .executeTakeFirst()
  return row && { ...row, events: row.trigger_when.events as string[] }
}

type ReplayOutcome = { kind: 'replayed'; actionId: number } | HttpProblem

/**
 * Sends one delivery again, immediately and out of order, or in its turn if the hook is strict; the new records refer to the
 * given one. An older claim no longer decides anything.
 */
export function replayDelivery(db: Database, hookRequestId: string, userId: number): Promise<ReplayOutcome> {
  return db.transaction().execute(async (trx): Promise<ReplayOutcome> => {
    const delivery = await lockDelivery(trx, hookRequestId)
    if (!delivery) return (await isTest(trx, hookRequestId)) ? NOT_REPLAYABLE : { kind: 'gone' }
    const { hook_id, event_id, action_id, is_strict } = delivery
    if (!delivery.is_active) return DISABLED
    if (delivery.is_in_progress) return conflict('This delivery is being sent right now.')
    const dueAt = is_strict ? sql`clock_timestamp() + ${STRICT_DELAY.ofOne}::interval` : sql`now()`
    const record = { firstRequestId: hookRequestId, askedBy: is_strict ? null : userId }
    await deliverAgain(trx, { hookId: hook_id, eventId: event_id }, { dueAt, ...record })
    if (delivery.is_pending && !is_strict) await releaseWaiting(trx, delivery)
    return { kind: 'replayed', actionId: action_id }
  })
}

const NOT_REPLAYABLE = conflict('A test cannot be replayed. Send another one.')

type LockedDelivery = { hook_id: string; event_id: number; action_id: number } & Record<
  'is_pending' | 'is_in_progress' | 'is_active' | 'is_strict',
  boolean
>

/** The delivery that a record is about. */
async function lockDelivery(trx: Transaction, hookRequestId: string): Promise<LockedDelivery | undefined> {
  const { rows } = await sql<LockedDelivery>`
    select d.hook_id, d.event_id, d.action_id, d.state = 'pending' as is_pending,
      coalesce(d.leased_until > now(), false) as is_in_progress, hooks.active and hooks.deleted_at is null as is_active,
      ${sql.raw(IS_STRICT)} as is_strict
    from hook_requests r join deliveries d on d.hook_id = r.hook_id and d.event_id = r.event_id
    join hooks on hooks.id = d.hook_id
    where r.id = ${hookRequestId} for update of d`.execute(trx)
  return rows[0]
}

/** Whether the record is that of a test, which has no delivery. */
async function isTest(trx: Transaction, hookRequestId: string): Promise<boolean> {
  const test = trx.selectFrom('hook_requests').select('id').where('id', '=', hookRequestId)
  return (await test.where('event_kind', '=', TEST_KIND).executeTakeFirst()) !== undefined
}

/** What was due with the retry of a delivery no longer waits for it. */
async function releaseWaiting(
  trx: Transaction,
  { hook_id, event_id, action_id }: LockedDelivery,
): Promise<void> {
  await sql`
    with replayed as (select ${hook_id}::uuid as hook_id, ${event_id}::bigint as event_id, ${action_id}::bigint as action_id)
    update deliveries set due_at = least(due_at, now()) where ctid = any(array(
      select waiting.row_id from replayed cross join lateral (${sql.raw(waitingBehind('replayed'))}) as waiting))`.execute(
    trx,
  )
}
