import { CompiledQuery, sql } from 'kysely'
import type { ActionRow } from '#model/actions/present.ts'
import { IS_NEXT, sameOrder, UNORDERED } from '#model/hooks/delivery-order.ts'
import { int4s, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { OPENS_AFTER } from './breaker.ts'

/** Longer than any attempt may take. After this, another process takes over a delivery whose process died. */
const LEASE_MS = 45_000
const LEASE = `interval '${LEASE_MS} milliseconds'`

const IS_DUE = `d.state = 'pending' and d.due_at <= now() and (d.leased_until is null or d.leased_until < now())`

// What belongs to a delivery is looked up by its key, whatever the planner knows: the claim names the keys as arrays, the
// rest is read one by one.
// A final delivery supersedes a predecessor only while it holds the lock on that row: if another process has just begun to
// retry the predecessor, unseen by this statement's snapshot, the row has changed, and the final delivery waits.
const CLAIM = `
  with capacity as materialized (select * from unnest($1::uuid[], $2::int[]) as c (hook_id, slots)),
  ready as materialized (
    select health.hook_id from capacity join hook_health health using (hook_id) cross join lateral (
      select from deliveries d where d.hook_id = health.hook_id and ${IS_DUE} and ${IS_NEXT} limit 1) as due
    where health.failures_in_a_row >= ${OPENS_AFTER} and health.open_until <= now()
  ),
  probes as (
    update hook_health set open_until = now() + ${LEASE}
    where hook_id in (select hook_id from ready) and open_until <= now()
    returning hook_id
  ),
  allowed as materialized (
    select capacity.hook_id, health.hook_id is not null as is_failing, probes.hook_id is not null as is_probe, case
        when probes.hook_id is not null then 1
        when health.open_until > now() or health.failures_in_a_row >= ${OPENS_AFTER} then 0
        else capacity.slots
      end as slots
    from capacity join hooks on hooks.id = capacity.hook_id and hooks.active and hooks.deleted_at is null
    left join hook_health health on health.hook_id = capacity.hook_id
    left join probes on probes.hook_id = capacity.hook_id
  ),
  due as materialized (
    select allowed.hook_id, first.*, allowed.is_failing, allowed.is_probe from allowed cross join lateral (
      select d.event_id, d.action_id, d.is_final and not d.${UNORDERED} and exists (
        select from deliveries before where ${sameOrder('d', 'before')} and before.event_id < d.event_id) as supersedes
      from deliveries d
      where d.hook_id = allowed.hook_id and ${IS_DUE} and ${IS_NEXT}
      order by d.due_at, d.event_id limit allowed.slots
      for update skip locked
    ) as first
  ),
  held as materialized (
    select due.hook_id, due.event_id from due cross join lateral (
      select from deliveries before
      where ${sameOrder('due', 'before')} and before.event_id < due.event_id and before.attempts > 0
        and (before.leased_until is null or before.leased_until < now())
      order by before.event_id limit 1
      for update skip locked
    ) as predecessor
    where due.supersedes
  ),
  claimed as (
    update deliveries set leased_until = now() + ${LEASE}, attempts = attempts + 1
    from due where deliveries.hook_id = due.hook_id and deliveries.event_id = due.event_id
      and deliveries.hook_id = any($1::uuid[]) and deliveries.event_id = any(array(select event_id from due))
      and (not due.supersedes or (due.hook_id, due.event_id) in (select hook_id, event_id from held))
    returning deliveries.*, due.is_failing, due.is_probe
  ),
  superseded as (
    update deliveries set state = 'superseded', leased_until = null
    where (hook_id, event_id) in (
      select claimed.hook_id, before.event_id from claimed cross join lateral (
        select before.event_id from deliveries before
        where ${sameOrder('claimed', 'before')} and before.event_id < claimed.event_id limit 100) as before
      where claimed.is_final and not claimed.${UNORDERED})
    returning *
  ),
  no_next_attempt as (
    update hook_requests set next_attempt_at = null, updated_at = now()
    where id in (select last_request_id from superseded)
  ),
  recorded as (
    insert into hook_requests (id, hook_id, type, action_id, retry_of, url, method, outcome, attempt, event_id)
    select uuidv7(), s.hook_id, 'outgoing', s.action_id, s.first_request_id, hooks.target_url,
      hooks.settings ->> 'request_method', 'superseded', s.attempts, s.event_id
    from superseded s join hooks on hooks.id = s.hook_id order by s.event_id
  )
  select claimed.id as delivery_id, claimed.hook_id as delivery_hook_id, claimed.attempts, claimed.leased_until, claimed.first_request_id,
    claimed.is_failing, claimed.is_probe, e.id as event_id, e.previous_status as event_previous_status, e.status as event_status,
    e.status_reason_code as event_reason, e.occurred_at as event_occurred_at,
    (select version from tree_version) as tree_version, a.*
  from claimed
  cross join lateral (select * from events where events.id = claimed.event_id limit 1) as e
  cross join lateral (select * from actions where actions.id = claimed.action_id limit 1) as a
  order by claimed.due_at, claimed.event_id`

type ClaimedRow = ActionRow & {
  delivery_id: string
  delivery_hook_id: string
  attempts: number
  leased_until: string
  first_request_id: string | null
  is_failing: boolean
  is_probe: boolean
  event_id: number
  event_previous_status: Status | null
  event_status: Status
  event_reason: ReasonCode
  event_occurred_at: string
  tree_version: number
}

/** Claims due deliveries, oldest first, up to the capacity of each hook. */
export async function claimDeliveries(
  db: Database,
  capacity: ReadonlyMap<string, number>,
): Promise<ClaimedDelivery[]> {
  const ownedUntil = performance.now() + LEASE_MS
  const parameters = [uuids([...capacity.keys()]), int4s([...capacity.values()])]
  const { rows } = await db.executeQuery<ClaimedRow>(CompiledQuery.raw(CLAIM, parameters))
  return rows.map((row) => toClaimed(row, ownedUntil))
}

/** One attempt that this process now owns, with its event and action. */
export type ClaimedDelivery = ReturnType<typeof toClaimed>

function toClaimed(row: ClaimedRow, ownedUntil: number) {
  return {
    id: row.delivery_id,
    hookId: row.delivery_hook_id,
    /** 1 for the first one, also after a replay. */
    attempt: row.attempts,
    /** Identifies the claim: what is written about the delivery counts only while its claim is the newest. */
    lease: row.leased_until,
    firstRequestId: row.first_request_id,
    event: {
      id: row.event_id,
      previous_status: row.event_previous_status,
      status: row.event_status,
      status_reason_code: row.event_reason,
      occurred_at: row.event_occurred_at,
    },
    // With a few more columns than an action has: picking forty costs more than passing them along.
    action: row as ActionRow,
    /** On this process's monotonic clock (`performance.now()`): after that another process may claim it. */
    ownedUntil,
    /** The receiver has failed recently: its health has to be updated. */
    isFailing: row.is_failing,
    /** The one attempt that tests whether a failing receiver has recovered. */
    isProbe: row.is_probe,
    treeVersion: row.tree_version,
  }
}

/**
 * The hooks that have due deliveries. Pending deliveries of disabled or removed hooks become `missed`: they can be
 * redelivered, but are not all sent when the hook is enabled again. Those with an attempt in progress are left alone.
 */
export async function findHooksWithWork(db: Database): Promise<string[]> {
  const { rows } = await sql<{ hook_id: string; is_active: boolean; is_due: boolean }>`
    with recursive waiting as (
      (select hook_id from deliveries where state = 'pending' order by hook_id limit 1)
      union all
      select (select d.hook_id from deliveries d where d.state = 'pending' and d.hook_id > waiting.hook_id
        order by d.hook_id limit 1)
      from waiting where waiting.hook_id is not null
    )
    select waiting.hook_id, hooks.active and hooks.deleted_at is null as is_active,
      coalesce(health.open_until <= now(), true) and exists (
        select from deliveries d where d.hook_id = waiting.hook_id and ${sql.raw(IS_DUE)}) as is_due
    from waiting join hooks on hooks.id = waiting.hook_id
    left join hook_health health on health.hook_id = waiting.hook_id`.execute(db)
  const disabled = rows.filter((row) => !row.is_active).map((row) => row.hook_id)
  if (disabled.length > 0) await markMissed(db, disabled)
  return rows.filter((row) => row.is_active && row.is_due).map((row) => row.hook_id)
}

async function markMissed(db: Database, hookIds: string[]): Promise<void> {
  await sql`
    with missed as (
      update deliveries d set state = 'missed', leased_until = null from hooks
      where d.hook_id = any(${hookIds}::uuid[]) and d.state = 'pending' and hooks.id = d.hook_id
        and (d.leased_until is null or d.leased_until < now()) and not (hooks.active and hooks.deleted_at is null)
      returning d.last_request_id
    )
    update hook_requests set next_attempt_at = null, updated_at = now()
    where id in (select last_request_id from missed)`.execute(db)
}

const MAX_COUNTED = 100_000

/** Totals for operators. Late deliveries were due a minute ago and have no attempt in progress. */
export async function readDeliveryDepths(db: Database) {
  const { rows } = await sql<{ pending: number; late: number; failingHooks: number }>`
    select count(*)::int as pending, (select count(*)::int from hook_health) as "failingHooks",
      count(*) filter (where due_at < now() - interval '1 minute' and coalesce(leased_until < now(), true))::int as late
    from (select due_at, leased_until from deliveries where state = 'pending' limit ${MAX_COUNTED}) as waiting`.execute(
    db,
  )
  return rows[0]!
}
