import { type RawBuilder, sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import type { GateEvent } from '#platform/vocabulary.ts'
import { DUE_AFTER } from './delivery-order.ts'
import { eventKinds } from './event-kinds.ts'

/** NOTIFY channel of new deliveries; the payload is the hook's id. */
export const DELIVERIES_CHANNEL = 'deliveries'

/**
 * Inserts the deliveries of events: the common table expression `new_deliveries`, appended to a relation `notified`
 * (event_id, action_id, pipeline_id, kinds text[], is_final). A hook of the action's pipeline, or of another
 * pipeline of the same resource when that is its scope, gets each event that it is subscribed to, once. `dueAt` is the
 * time at which a delivery `d` is due.
 */
const insertDeliveries = (dueAt: string) => `
  subscribed as (
    select h.id as hook_id, notified.event_id, notified.action_id, notified.is_final
    from notified
    join pipelines p on p.id = notified.pipeline_id
    cross join lateral (
      select p.id
      union select o.id from pipelines o where o.application_id = p.application_id
      union select o.id from pipelines o where o.server_id = p.server_id
    ) as candidate
    join hooks h on h.pipeline_id = candidate.id and h.type = 'outgoing' and h.active and h.deleted_at is null
    where h.action_type = p.operation and h.trigger_when -> 'events' ?| notified.kinds
      and (candidate.id = p.id or h.trigger_when ->> 'scope' = 'resource')
  ),
  new_deliveries as (
    insert into deliveries (hook_id, event_id, action_id, is_final, due_at)
    select d.hook_id, d.event_id, d.action_id, d.is_final, ${dueAt} from subscribed d order by d.event_id
    returning hook_id
  )`

/** Of new actions: nothing comes before these. */
export const INSERT_FIRST_DELIVERIES = insertDeliveries('now()')

/** Of any actions. One that waits for a retry is not due before that: else every claim would have to pass it over. */
const INSERT_DELIVERIES = insertDeliveries(
  `case when d.is_final then now() else greatest(now(), ${DUE_AFTER}) end`,
)

/** Selected by such a statement: notifies delivering processes once it has committed. */
export const NOTIFY_DELIVERIES = `(
  select count(pg_notify('${DELIVERIES_CHANNEL}', hook_id::text)) from (select distinct hook_id from new_deliveries) as hooks)`

/** The event kinds of a creation, in SQL: a run starts as queued, at a gate, or as pending behind another. */
export const CREATION_KINDS = `case status
  when 'queued' then ${textArray(eventKinds(null, 'queued'))}
  when 'waiting' then ${textArray(eventKinds(null, 'waiting', 'gate_changed'))} else ${textArray(eventKinds(null, 'pending'))} end`

/** Those of an action that waits right after its creation. */
export const WAITING_KINDS = textArray(eventKinds('queued', 'waiting'))

type NewEvent = {
  action_id: number
  pipeline_id: number
  previous_status: Status
  status: Status
  status_reason_code: ReasonCode
  is_final: boolean
  gate_event?: GateEvent | null
}

/** Records status changes of actions, in the order given, with their deliveries. */
export async function recordEvents(trx: Transaction, at: string, events: readonly NewEvent[]): Promise<void> {
  if (events.length === 0) return
  const rows = events.map((event) => ({
    ...event,
    kinds: eventKinds(event.previous_status, event.status, event.gate_event),
  }))
  await sql`
    with moved as materialized (
      select nextval('events_id_seq') as event_id, m.* from rows from (json_to_recordset(${JSON.stringify(rows)}::json)
        as (action_id bigint, pipeline_id bigint, previous_status text, status text, status_reason_code text,
          is_final boolean, gate_event text, kinds text[])) with ordinality as
        m (action_id, pipeline_id, previous_status, status, status_reason_code, is_final, gate_event, kinds, n)
      order by n
    ),
    new_events as (
      insert into events (id, action_id, previous_status, status, status_reason_code, gate_event, occurred_at)
      overriding system value
      select event_id, action_id, previous_status, status, status_reason_code, gate_event, ${at} from moved
    ),
    notified as (select * from moved where cardinality(kinds) > 0),
    ${sql.raw(INSERT_DELIVERIES)}
    select ${sql.raw(NOTIFY_DELIVERIES)}`.execute(trx)
}

/** `firstRequestId`: the record that the new ones refer to; by default that of the first attempt. */
type Again = { dueAt: RawBuilder<unknown>; askedBy: number | null; firstRequestId?: string | null }

/**
 * Sends a delivery again, from its first attempt on. `askedBy`: immediately and out of order, for this user; otherwise in its
 * turn. An older claim no longer decides anything.
 */
export async function deliverAgain(
  trx: Transaction,
  { hookId, eventId }: { hookId: string; eventId: number },
  { dueAt, askedBy, firstRequestId = null }: Again,
): Promise<void> {
  await sql`
    update deliveries set state = 'pending', attempts = 0, leased_until = null, created_at = now(), due_at = ${dueAt},
      asked_by = ${askedBy}::bigint, is_redelivered = is_redelivered or ${askedBy === null}::boolean,
      first_request_id = coalesce(${firstRequestId}::uuid, first_request_id)
    where hook_id = ${hookId} and event_id = ${eventId}`.execute(trx)
  await sql`select pg_notify(${DELIVERIES_CHANNEL}, ${hookId})`.execute(trx)
}

function textArray(words: readonly string[]): string {
  return `array[${words.map((word) => `'${word}'`).join(', ')}]`
}
