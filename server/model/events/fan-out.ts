import { sql, type Transaction } from 'kysely'
import type { ReasonCode, Status, Tables } from '#platform/database/tables.ts'
import { eventKinds } from './event-kinds.ts'

/** Tells processes that deliver which hook has something new; the payload is the hook's id. */
export const DELIVERIES_CHANNEL = 'deliveries'

/**
 * Makes the deliveries of events: the common table expression `new_deliveries`, to be put behind a relation
 * `told` (event_id, action_id, pipeline_id, kinds text[], is_final). A hook of the action's pipeline, or of
 * another pipeline of the same resource when that is its scope, gets each event that it listens to, once.
 */
export const INSERT_DELIVERIES = `
  new_deliveries as (
    insert into deliveries (hook_id, event_id, action_id, is_final)
    select h.id, told.event_id, told.action_id, told.is_final
    from told
    join pipelines p on p.id = told.pipeline_id
    cross join lateral (
      select p.id
      union select o.id from pipelines o where o.application_id = p.application_id
      union select o.id from pipelines o where o.server_id = p.server_id
    ) as near
    join hooks h on h.pipeline_id = near.id and h.type = 'outgoing' and h.active and h.deleted_at is null
    where h.action_type = p.operation and h.trigger_when -> 'events' ?| told.kinds
      and (near.id = p.id or h.trigger_when ->> 'scope' = 'resource')
    order by told.event_id
    returning hook_id
  )`

/** Put among what such a statement selects: those who deliver are told when it has committed. */
export const NOTIFY_DELIVERIES = `(
  select count(pg_notify('${DELIVERIES_CHANNEL}', hook_id::text)) from (select distinct hook_id from new_deliveries) as hooks)`

/** The kinds of a creation, in SQL: a run begins queued, or pending behind another. */
export const CREATION_KINDS = `case status
  when 'queued' then ${textArray(eventKinds(null, 'queued'))} else ${textArray(eventKinds(null, 'pending'))} end`

export type NewEvent = {
  action_id: number
  pipeline_id: number
  previous_status: Status
  status: Status
  status_reason_code: ReasonCode
  is_final: boolean
}

/** Records what happened to actions, in the order given, and who is to be told of it. */
export async function recordEvents(
  trx: Transaction<Tables>,
  at: string,
  events: readonly NewEvent[],
): Promise<void> {
  if (events.length === 0) return
  const rows = events.map((event) => ({ ...event, kinds: eventKinds(event.previous_status, event.status) }))
  await sql`
    with moved as materialized (
      select nextval('events_id_seq') as event_id, m.* from rows from (json_to_recordset(${JSON.stringify(rows)}::json)
        as (action_id bigint, pipeline_id bigint, previous_status text, status text, status_reason_code text,
          is_final boolean, kinds text[])) with ordinality as
        m (action_id, pipeline_id, previous_status, status, status_reason_code, is_final, kinds, n)
      order by n
    ),
    new_events as (
      insert into events (id, action_id, previous_status, status, status_reason_code, occurred_at)
      overriding system value
      select event_id, action_id, previous_status, status, status_reason_code, ${at} from moved
    ),
    told as (select * from moved where cardinality(kinds) > 0),
    ${sql.raw(INSERT_DELIVERIES)}
    select ${sql.raw(NOTIFY_DELIVERIES)}`.execute(trx)
}

function textArray(words: readonly string[]): string {
  return `array[${words.map((word) => `'${word}'`).join(', ')}]`
}
