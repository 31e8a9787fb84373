// The statement that stores attempts: their records, and what becomes of their deliveries.
import { CompiledQuery } from 'kysely'
import { recordUsesOf } from '#model/actions/credential-uses.ts'
import { isEnd } from '#model/actions/status.ts'
import { UNORDERED, waitingBehind } from '#model/events/delivery-order.ts'
import { byteas, int4s, int8s, jsons, texts, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import type { DeliveryState } from '#platform/database/tables.ts'
import type { AttemptedDelivery, NextStep } from './attempt-delivery.ts'
import { storeCaptured } from './captured-values.ts'
import { type AttemptRecord, RECORD_TYPES } from './record-attempt.ts'

/** An attempted delivery as it is stored: with its record, or a reduced one if the database rejects that. */
export type RecordedDelivery = {
  attempted: AttemptedDelivery
  /** `unrecorded`: the database rejects the record of the attempt, and the delivery has failed. */
  next: NextStep | { kind: 'unrecorded'; reason: string }
  record: AttemptRecord | null
}

/** NOTIFY channel of stored attempts and tests; the payload is the hook's id. */
export const ATTEMPTS_CHANNEL = 'delivery_attempts'

/** Next steps that end a delivery. After all others it is pending. */
const END_STATES: Partial<Record<RecordedDelivery['next']['kind'], DeliveryState>> = {
  delivered: 'delivered',
  failed: 'failed',
  unrecorded: 'failed',
  ignored: 'ignored',
}

const ENCODERS = { uuid: uuids, bigint: int8s, int: int4s, text: texts, json: jsons, bytea: byteas }
type Values = { [Type in keyof typeof ENCODERS]: Parameters<(typeof ENCODERS)[Type]>[0][number] }

/** One array parameter of the statement: a value of each delivery. */
function column<Type extends keyof Values>(
  name: string,
  type: Type,
  read: (one: RecordedDelivery) => Values[Type],
) {
  const encode = ENCODERS[type] as (values: readonly Values[Type][]) => Buffer
  return { name, type, encode: (all: readonly RecordedDelivery[]) => encode(all.map(read)) }
}

const RECORD_NAMES = Object.keys(RECORD_TYPES) as (keyof typeof RECORD_TYPES)[]
const RECORD_COLUMNS = RECORD_NAMES.join(', ')

const COLUMNS = [
  column('hook_id', 'uuid', ({ attempted }) => attempted.delivery.hookId),
  column('event_id', 'bigint', ({ attempted }) => attempted.delivery.event.id),
  column('action_id', 'bigint', ({ attempted }) => attempted.delivery.action.id),
  column('attempt', 'int', ({ attempted }) => attempted.delivery.attempt),
  column('lease', 'text', ({ attempted }) => attempted.delivery.lease),
  column('next', 'text', ({ next }) => next.kind),
  column('state', 'text', ({ next }) => END_STATES[next.kind] ?? 'pending'),
  column('after_ms', 'bigint', ({ next }) =>
    'afterMs' in next ? Math.max(1, Math.round(next.afterMs)) : null,
  ),
  column('request_id', 'uuid', ({ record }) => record?.id ?? null),
  // The reference to the first record may be what the database rejects.
  column('retry_of', 'uuid', ({ attempted, next }) =>
    next.kind === 'unrecorded' ? null : attempted.delivery.firstRequestId,
  ),
  column('credential_id', 'bigint', ({ attempted }) =>
    attempted.kind === 'sent' ? attempted.credentialId : null,
  ),
  ...RECORD_NAMES.map((name) =>
    column(name, RECORD_TYPES[name], ({ record }) => (record?.[name] ?? null) as never),
  ),
]

/** The attempts, one row each; `request_id` is null for those that leave no record. */
const FINISHED = `finished as materialized (
    select * from unnest(${COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(', ')})
      as f (${COLUMNS.map(({ name }) => name).join(', ')})
  )`

/**
 * Those whose claim is still the newest of their delivery: the others decide nothing. Rows are looked up by key one by one,
 * and updated where they were found: without statistics the planner would scan the whole table, or everything that is pending.
 */
const OWNED = `owned as materialized (
    select f.*, found.row_id from finished f cross join lateral (
      select d.ctid as row_id from deliveries d
      where d.hook_id = f.hook_id and d.event_id = f.event_id and d.leased_until = f.lease::timestamptz
        and d.state is not distinct from 'pending'
      limit 1) as found
  )`

/** Next steps after which the delivery is sent again, and its attempt does not count. */
const IS_UNCOUNTED = `owned.next in ('paused', 'handed-back', 'continued')`

/**
 * A retry is due after its delay. What another process or another request continues is due now. A pause leaves the due time
 * alone: the claim enforces it.
 */
const DUE_AT = `case when owned.next = 'retry' then now() + owned.after_ms * interval '1 millisecond'
        when owned.next in ('handed-back', 'continued') then now() else d.due_at end`

/** The new state of the deliveries that are still owned. */
const UPDATED = `updated as (
    update deliveries d set state = owned.state, leased_until = null, due_at = ${DUE_AT},
      attempts = case when ${IS_UNCOUNTED} then greatest(0, d.attempts - 1) else d.attempts end,
      first_request_id = coalesce(d.first_request_id, owned.request_id),
      last_request_id = coalesce(owned.request_id, d.last_request_id)
    from owned where d.ctid = any(array(select row_id from owned)) and d.ctid = owned.row_id
    returning owned.request_id, owned.next, d.hook_id, d.event_id, d.action_id, d.due_at, d.${UNORDERED} as is_unordered
  )`

/** What waits behind a retried delivery is due with it. Until then no claim has to pass it over. */
const POSTPONED = `behind as materialized (
    select waiting.row_id, retried.due_at from updated retried cross join lateral (${waitingBehind('retried')}) as waiting
    where retried.next = 'retry' and not retried.is_unordered
  ),
  postponed as (
    update deliveries d set due_at = greatest(d.due_at, behind.due_at)
    from behind where d.ctid = any(array(select row_id from behind)) and d.ctid = behind.row_id
  )`

/** Which credentials were used last for which action. */
const USED = `uses as (select credential_id, action_id from finished where credential_id is not null),
  used as (${recordUsesOf('uses')})`

/** The records, also of attempts whose delivery another process has claimed in the meantime: they were made anyway. */
const RECORDED = `recorded as (
    insert into hook_requests (id, hook_id, type, action_id, retry_of, attempt, event_id, ${RECORD_COLUMNS}, next_attempt_at)
    select request_id, hook_id, 'outgoing', action_id, retry_of, attempt, event_id, ${RECORD_COLUMNS},
      case when next in ('retry', 'paused') and request_id in (select request_id from updated)
        then now() + after_ms * interval '1 millisecond' end
    from finished where request_id is not null
    on conflict (id) do nothing
    returning hook_id
  )`

/** The first of those in engine/reconciling/check-schedule.ts. */
const FIRST_CHECK = `interval '5 seconds'`

/**
 * Final commit statuses that were delivered are read back (engine/reconciling). A status of an earlier event that was sent
 * after it, by a replay, has replaced it: then it is read back again.
 */
const planChecks = (statuses: string) => `sent_statuses as materialized (
    select * from json_to_recordset(${statuses}::json) as s (action_id bigint, hook_id uuid, event_id bigint,
      is_final boolean, credential_id bigint, kind text, url text, context text, state text, link text)
  ),
  planned_checks as (
    insert into status_checks (action_id, hook_id, event_id, credential_id, kind, url, context, state, link, due_at)
    select action_id, hook_id, event_id, credential_id, kind, url, context, state, link, now() + ${FIRST_CHECK}
    from sent_statuses where is_final
    on conflict (action_id, hook_id) do update set event_id = excluded.event_id, credential_id = excluded.credential_id,
      kind = excluded.kind, url = excluded.url, context = excluded.context, state = excluded.state, link = excluded.link,
      sent_at = now(), checks = 0, due_at = excluded.due_at, leased_until = null, remote_state = 'not_checked'
    where status_checks.event_id <= excluded.event_id
  ),
  replaced as materialized (
    select found.row_id from sent_statuses s cross join lateral (
      select c.ctid as row_id from status_checks c
      where c.action_id = s.action_id and c.hook_id = s.hook_id and c.event_id > s.event_id limit 1) as found
    where not s.is_final
  ),
  repeated_checks as (
    update status_checks set sent_at = now(), checks = 0, due_at = now() + ${FIRST_CHECK}, leased_until = null
    where ctid = any(array(select row_id from replaced))
  )`

/** Idempotent: after a lost connection it is not known whether it was executed. */
const storeStatement = (more: readonly string[]) => `
  with ${[FINISHED, OWNED, UPDATED, POSTPONED, USED, ...more, RECORDED].join(',\n  ')}
  select count(pg_notify('${ATTEMPTS_CHANNEL}', hook_id::text)) from (select distinct hook_id from recorded) as hooks`

/** Most hooks neither set a status nor capture anything. */
const PLAIN_STATEMENT = storeStatement([])

/** A single statement, so it is atomic without a transaction. */
export async function writeAttempts(db: Database, recorded: readonly RecordedDelivery[]): Promise<void> {
  const parts = [
    { part: planChecks, rows: sentStatuses(recorded) },
    { part: storeCaptured, rows: capturedRows(recorded) },
  ].filter(({ rows }) => rows.length > 0)
  const more = parts.map(({ part }, index) => part(`$${COLUMNS.length + 1 + index}`))
  const statement = more.length === 0 ? PLAIN_STATEMENT : storeStatement(more)
  const parameters = [
    ...COLUMNS.map(({ encode }) => encode(recorded)),
    ...parts.map(({ rows }) => JSON.stringify(rows)),
  ]
  await db.executeQuery(CompiledQuery.raw(statement, parameters))
}

/** Once per hook and action, the last event: a statement cannot change a row twice. */
function sentStatuses(recorded: readonly RecordedDelivery[]): object[] {
  const rows = new Map<string, { event_id: number }>()
  for (const { attempted, next } of recorded) {
    if (attempted.kind !== 'sent' || next.kind === 'unrecorded') continue
    const { sentStatus, credentialId: credential_id } = attempted
    if (sentStatus === null || credential_id === null) continue
    const { hookId: hook_id, action, event } = attempted.delivery
    const [key, event_id, is_final] = [`${hook_id} ${action.id}`, event.id, isEnd(event.status)]
    if ((rows.get(key)?.event_id ?? 0) > event_id) continue
    rows.set(
      key,
      Object.assign({ event_id, action_id: action.id, hook_id, is_final, credential_id }, sentStatus),
    )
  }
  return [...rows.values()]
}

function capturedRows(recorded: readonly RecordedDelivery[]): object[] {
  return recorded.flatMap(({ attempted }) => {
    if (attempted.kind !== 'sent' || attempted.captured === null) return []
    const { hookId: hook_id, event } = attempted.delivery
    return [{ hook_id, event_id: event.id, ...attempted.captured }]
  })
}
