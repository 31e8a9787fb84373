import { CompiledQuery } from 'kysely'
import { byteas, int4s, int8s, jsons, texts, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { DeliveryState } from '#platform/database/tables.ts'
import type { EndedAttempt, NextStep } from './attempt.ts'

const STATES: Record<NextStep['kind'], DeliveryState> = {
  delivered: 'delivered',
  retry: 'pending',
  'give-up': 'failed',
  unrecorded: 'failed',
  ignored: 'ignored',
  'handed-back': 'pending',
}

// Rows are looked up by their key, each on its own, and updated where they were found: while the planner knows little
// of the table it would rather read all of it, or all that is pending. The record is kept even when another process
// has taken the delivery over: the receiver was asked all the same.
// Done twice it is as if done once: whoever loses the connection cannot know whether it was done.
const STORE = `
  with ended as materialized (
    select * from unnest($1::uuid[], $2::bigint[], $3::int[], $4::text[], $5::bigint[], $6::uuid[], $7::text[],
      $8::text[], $9::text[], $10::text[], $11::text[], $12::json[], $13::bytea[], $14::int[], $15::json[],
      $16::bytea[], $17::int[], $18::bigint[], $19::uuid[], $20::text[])
      as e (hook_id, event_id, attempt, state, after_ms, request_id, outcome, error, ip_address, url, method,
        request_headers, request_body, status, response_headers, response_body, duration_ms, action_id, retry_of, lease)
  ),
  ours as materialized (
    select e.*, found.row_place from ended e cross join lateral (
      select d.ctid as row_place from deliveries d
      where d.hook_id = e.hook_id and d.event_id = e.event_id and d.leased_until = e.lease::timestamptz
        and d.state is not distinct from 'pending'
      limit 1) as found
  ),
  moved as (
    update deliveries d set state = ours.state, leased_until = null,
      attempts = case when ours.after_ms = 0 then greatest(0, d.attempts - 1) else d.attempts end,
      due_at = case when ours.after_ms is null then d.due_at else now() + ours.after_ms * interval '1 millisecond' end,
      first_request_id = coalesce(d.first_request_id, ours.request_id),
      last_request_id = coalesce(ours.request_id, d.last_request_id)
    from ours where d.ctid = any(array(select row_place from ours)) and d.ctid = ours.row_place
    returning ours.request_id
  )
  insert into hook_requests (id, hook_id, type, action_id, retry_of, ip_address, url, method, outcome, error, attempt,
    event_id, response_status_code, request_headers, request_body, response_headers, response_body, duration_ms,
    next_attempt_at)
  select request_id, hook_id, 'outgoing', action_id, retry_of, ip_address, url, method, outcome, error, attempt,
    event_id, status, request_headers, request_body, response_headers, response_body, duration_ms,
    case when after_ms > 0 and request_id in (select request_id from moved)
      then now() + after_ms * interval '1 millisecond' end
  from ended where request_id is not null
  on conflict (id) do nothing`

/** Runs database work until the database is back; `work` only throws when it is away. */
export type Persist = <Result>(work: () => Promise<Result>) => Promise<Result>

/**
 * Stores how attempts have ended; returns them as they were stored. An attempt that the database refuses does not hold
 * up the others: it is stored without bodies and headers, else its delivery fails as `unrecorded`.
 */
export async function storeAttempts(
  db: Database,
  attempts: readonly EndedAttempt[],
  persist: Persist,
): Promise<EndedAttempt[]> {
  const refusal = (batch: readonly EndedAttempt[]) =>
    persist(() =>
      writeAttempts(db, batch).then(
        () => null,
        (error: Error & { code?: string }) => {
          if (isOutage(error)) throw error
          return error
        },
      ),
    )
  if (!(await refusal(attempts))) return [...attempts]
  const stored: EndedAttempt[] = []
  for (const attempt of attempts) {
    const error = await refusal([attempt])
    const simpler = error ? [withoutBodies(attempt), ...unrecordedVersions(attempt, error)] : []
    let kept = attempt
    for (const version of simpler) {
      kept = version
      if (!(await refusal([version]))) break
    }
    stored.push(kept)
  }
  return stored
}

function withoutBodies({ record, ...attempt }: EndedAttempt): EndedAttempt {
  const nothing = { requestHeaders: null, requestBody: null, responseHeaders: null, responseBody: null }
  return { ...attempt, record: record && { ...record, ...nothing } }
}

/** The delivery has failed: with a record that holds nothing but the reason, else without any. */
function unrecordedVersions(attempt: EndedAttempt, error: Error & { code?: string }): EndedAttempt[] {
  const why = `The attempt was made, but its record could not be stored (database error ${error.code ?? 'unknown'}).`
  const next: NextStep = { kind: 'unrecorded', why }
  const { record } = withoutBodies(attempt)
  const reason = record && {
    ...record,
    outcome: 'unrecorded' as const,
    error: why,
    url: '',
    ipAddress: null,
    status: null,
    durationMs: null,
  }
  const delivery = { ...attempt.delivery, firstRequestId: null }
  return [
    { ...attempt, delivery, next, record: reason },
    { ...attempt, next, record: null },
  ]
}

/** One statement, which outside of a transaction is one of its own. */
export async function writeAttempts(db: Database, attempts: readonly EndedAttempt[]): Promise<void> {
  const column = <Value>(read: (attempt: EndedAttempt) => Value) => attempts.map(read)
  const parameters = [
    uuids(column(({ delivery }) => delivery.hookId)),
    int8s(column(({ delivery }) => delivery.event.id)),
    int4s(column(({ delivery }) => delivery.attempt)),
    texts(column(({ next }) => STATES[next.kind])),
    int8s(column(({ next }) => waitMs(next))),
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
  ]
  await db.executeQuery(CompiledQuery.raw(STORE, parameters))
}

/** Null: the delivery is over. Nothing at all: it goes back, and this attempt does not count. */
function waitMs(next: NextStep): number | null {
  if (next.kind === 'retry') return Math.max(1, Math.round(next.afterMs))
  return next.kind === 'handed-back' ? 0 : null
}
