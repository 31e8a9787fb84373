import { CompiledQuery } from 'kysely'
import { recordUsesOf } from '#model/actions/credential-uses.ts'
import { UNORDERED, waitingBehind } from '#model/events/delivery-order.ts'
import { byteas, int4s, int8s, jsons, texts, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { DeliveryState } from '#platform/database/tables.ts'
import type { FinishedAttempt, NextStep } from './attempt-delivery.ts'
import { capturedRows, STORE_CAPTURED } from './captured-values.ts'
import { ATTEMPTS_CHANNEL } from './channel.ts'
import { PLAN_CHECKS, sentStatuses } from './plan-checks.ts'
import { WITHOUT_BODIES } from './record-attempt.ts'

const STATES: Record<NextStep['kind'], DeliveryState> = {
  delivered: 'delivered',
  retry: 'pending',
  failed: 'failed',
  unrecorded: 'failed',
  ignored: 'ignored',
  'handed-back': 'pending',
  paused: 'pending',
  continued: 'pending',
}

type DatabaseError = Error & { code?: string }

/**
 * Stores finished attempts and returns them as stored. An attempt that the database rejects does not block the others:
 * it is stored without bodies and headers; when that is rejected as well, its delivery fails as `unrecorded`.
 * `persist` repeats work while the database is away.
 */
export async function storeAttempts(
  db: Database,
  attempts: readonly FinishedAttempt[],
  persist: <Result>(work: () => Promise<Result>) => Promise<Result>,
): Promise<readonly FinishedAttempt[]> {
  if (!(await tryToWrite(attempts))) return attempts
  const stored: FinishedAttempt[] = []
  for (const attempt of attempts) stored.push(await storeAlone(attempt))
  return stored

  async function storeAlone(attempt: FinishedAttempt): Promise<FinishedAttempt> {
    const error = await tryToWrite([attempt])
    if (!error) return attempt
    const [withoutBodies, withReason, withoutRecord] = reducedVersions(attempt, error)
    for (const version of [withoutBodies, withReason]) if (!(await tryToWrite([version]))) return version
    await tryToWrite([withoutRecord])
    return withoutRecord
  }

  /** The error with which the database rejects the attempts; outages are waited out. */
  function tryToWrite(batch: readonly FinishedAttempt[]): Promise<DatabaseError | null> {
    const rejection = (error: DatabaseError) => {
      if (isOutage(error)) throw error
      return error
    }
    return persist(() => writeAttempts(db, batch).then(() => null, rejection))
  }
}

/** Each version holds less that the database could reject; the last two fail the delivery. */
function reducedVersions(attempt: FinishedAttempt, { code = 'unknown' }: DatabaseError) {
  const record = attempt.record && { ...attempt.record, ...WITHOUT_BODIES }
  // The outcome says whether anything was sent: a blocked or unrenderable request was not.
  const outcome = attempt.record?.outcome ?? attempt.next.kind
  const reason = `This attempt (${outcome}) could not be stored (database error ${code}).`
  const failed = { ...attempt, next: { kind: 'unrecorded' as const, reason }, sentStatus: null }
  const bare = { error: reason, url: '', ipAddress: null, status: null, durationMs: null }
  return [
    { ...attempt, record },
    {
      ...failed,
      delivery: { ...attempt.delivery, firstRequestId: null },
      record: record && { ...record, ...bare, outcome: 'unrecorded' as const },
    },
    { ...failed, record: null },
  ] as const
}

// Rows are looked up by key one by one, and updated where they were found: without statistics the planner would scan the
// whole table, or everything that is pending. The record is stored even when another process has claimed the delivery in
// the meantime: the attempt was made anyway.
// What waits behind a retried delivery is due with it. Until then no claim has to pass it over.
// Idempotent: after a lost connection nobody knows whether the statement was executed.
const storeStatement = (more: string) => `
  with finished as materialized (
    select * from unnest($1::uuid[], $2::bigint[], $3::int[], $4::text[], $5::bigint[], $6::uuid[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::text[], $12::json[], $13::bytea[], $14::int[], $15::json[],
      $16::bytea[], $17::int[], $18::bigint[], $19::uuid[], $20::text[], $21::bigint[], $22::text[], $23::text[])
      as f (hook_id, event_id, attempt, state, after_ms, request_id, outcome, error, ip_address, url, method,
        request_headers, request_body, status, response_headers, response_body, duration_ms, action_id, retry_of, lease,
        credential_id, event_kind, capture_error)
  ),
  owned as materialized (
    select f.*, found.row_id from finished f cross join lateral (
      select d.ctid as row_id from deliveries d
      where d.hook_id = f.hook_id and d.event_id = f.event_id and d.leased_until = f.lease::timestamptz
        and d.state is not distinct from 'pending'
      limit 1) as found
  ),
  updated as (
    update deliveries d set state = owned.state, leased_until = null,
      attempts = case when owned.after_ms <= 0 then greatest(0, d.attempts - 1) else d.attempts end,
      due_at = case when owned.after_ms is null or owned.after_ms < 0 then d.due_at else now() + owned.after_ms * interval '1 millisecond' end,
      first_request_id = coalesce(d.first_request_id, owned.request_id),
      last_request_id = coalesce(owned.request_id, d.last_request_id)
    from owned where d.ctid = any(array(select row_id from owned)) and d.ctid = owned.row_id
    returning owned.request_id, owned.after_ms, d.hook_id, d.event_id, d.action_id, d.due_at, d.${UNORDERED} as is_unordered
  ),
  behind as materialized (
    select waiting.row_id, retried.due_at from updated retried cross join lateral (${waitingBehind('retried')}) as waiting
    where retried.after_ms > 0 and not retried.is_unordered
  ),
  postponed as (
    update deliveries d set due_at = greatest(d.due_at, behind.due_at)
    from behind where d.ctid = any(array(select row_id from behind)) and d.ctid = behind.row_id
  ),
  uses as (select credential_id, action_id from finished where credential_id is not null),
  used as (${recordUsesOf('uses')}),
  ${more}
  recorded as (
  insert into hook_requests (id, hook_id, type, action_id, retry_of, ip_address, url, method, outcome, error, attempt,
    event_id, response_status_code, request_headers, request_body, response_headers, response_body, duration_ms,
    event_kind, capture_error, next_attempt_at)
  select request_id, hook_id, 'outgoing', action_id, retry_of, ip_address, url, method, outcome, error, attempt,
    event_id, status, request_headers, request_body, response_headers, response_body, duration_ms,
    event_kind, capture_error, case when after_ms <> 0 and request_id in (select request_id from updated)
      then now() + abs(after_ms) * interval '1 millisecond' end
  from finished where request_id is not null
  on conflict (id) do nothing
  returning hook_id)
  select count(pg_notify('${ATTEMPTS_CHANNEL}', hook_id::text)) from (select distinct hook_id from recorded) as hooks`

/** Each part of it only where it is needed: most hooks neither set a status nor capture anything. */
const STATEMENTS = {
  plain: storeStatement(''),
  checks: storeStatement(`${PLAN_CHECKS('$24')},`),
  captures: storeStatement(`${STORE_CAPTURED('$24')},`),
  both: storeStatement(`${PLAN_CHECKS('$24')}, ${STORE_CAPTURED('$25')},`),
}

/** One statement: outside of a transaction it is its own. */
export async function writeAttempts(db: Database, attempts: readonly FinishedAttempt[]): Promise<void> {
  const column = <Value>(read: (attempt: FinishedAttempt) => Value) => attempts.map(read)
  const parameters = [
    uuids(column(({ delivery }) => delivery.hookId)),
    int8s(column(({ delivery }) => delivery.event.id)),
    int4s(column(({ delivery }) => delivery.attempt)),
    texts(column(({ next }) => STATES[next.kind])),
    int8s(column(({ next }) => delayMs(next))),
    uuids(column(({ record }) => record?.id ?? null)),
    texts(column(({ record }) => record?.outcome ?? null)),
    texts(column(({ record }) => record?.error ?? null)),
    texts(column(({ record }) => record?.ipAddress ?? null)),
    texts(column(({ record }) => record?.url ?? null)),
    texts(column(({ record }) => record?.method ?? null)),
    jsons(column(({ record }) => record?.requestHeaders ?? null)),
    byteas(column(({ record }) => record?.requestBody ?? null)),
    int4s(column(({ record }) => record?.status ?? null)),
    jsons(column(({ record }) => record?.responseHeaders ?? null)),
    byteas(column(({ record }) => record?.responseBody ?? null)),
    int4s(column(({ record }) => record?.durationMs ?? null)),
    int8s(column(({ delivery }) => delivery.action.id)),
    uuids(column(({ delivery }) => delivery.firstRequestId)),
    texts(column(({ delivery }) => delivery.lease)),
    int8s(column(({ credentialId }) => credentialId ?? null)),
    texts(column(({ record }) => record?.eventKind ?? null)),
    texts(column(({ record }) => record?.captureError ?? null)),
  ]
  const statuses = sentStatuses(attempts)
  const captured = capturedRows(attempts)
  const which =
    statuses === null ? (captured === null ? 'plain' : 'captures') : captured === null ? 'checks' : 'both'
  const more = [statuses, captured].filter((one) => one !== null)
  await db.executeQuery(CompiledQuery.raw(STATEMENTS[which], [...parameters, ...more]))
}

/**
 * Null: the delivery has ended. Zero: it is due again at once, and this attempt does not count. Less: neither does this one, and
 * the delivery keeps its turn; it waits for a pause of that many milliseconds.
 */
function delayMs(next: NextStep): number | null {
  if (next.kind === 'retry') return Math.max(1, Math.round(next.afterMs))
  if (next.kind === 'paused') return -Math.max(1, Math.round(next.afterMs))
  return next.kind === 'handed-back' || next.kind === 'continued' ? 0 : null
}
