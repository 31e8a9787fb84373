// Claims due deliveries: each gets a lease, which makes one process its owner for a while.
import { CompiledQuery } from 'kysely'
import type { ActionRow } from '#model/actions/present.ts'
import { IS_NEXT, isNext, isSupersedable, sameOrder, UNORDERED } from '#model/events/delivery-order.ts'
import { countsAgainst, isBudgetPaused, wasBudgetPaused } from '#model/hooks/rate-budgets.ts'
import { int4s, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import type { GateEvent } from '#platform/vocabulary.ts'
import { OPENS_AFTER } from './breaker.ts'

/** Longer than any attempt may take. After this, another process may claim a delivery whose process died. */
const LEASE_MS = 45_000
const LEASE = `interval '${LEASE_MS} milliseconds'`
/** How many predecessors one final delivery supersedes in one claim. */
const MAX_SUPERSEDED = 100

/** No process has a lease on the delivery `d`. */
export const isFree = (d: string) => `(${d}.leased_until is null or ${d}.leased_until < now())`
export const IS_DUE = `d.state = 'pending' and d.due_at <= now() and ${isFree('d')}`

// The statement consists of the common table expressions below, in the order in which they build on each other. What belongs
// to a delivery is looked up by its key, whatever the planner knows: the claim names the keys as arrays, the rest is read one
// by one.

/**
 * The hooks that may claim, and how many deliveries of each. The lengths of the arrays are hidden from the planner: all plans
 * then seem equally expensive, and PostgreSQL keeps one. Else it made a new one for each claim while many deliveries waited,
 * which took as long as the claim itself.
 */
const CAPACITY = `capacity as materialized (
    select * from unnest((select $1::uuid[]), (select $2::int[]), (select $3::int[])) as c (hook_id, slots, budget_slots)
  )`

/** The rate budgets of these hooks that are or were paused: of each hook the last one. They come first: usually there is none. */
const LIMITS = `limits as materialized (
    select distinct on (hook.id) hook.id as hook_id, b.credential_id, b.origin, b.paused_until, ${isBudgetPaused('b')} as is_paused
    from rate_budgets b cross join lateral (
      select h.id from capacity join hooks h on h.id = capacity.hook_id where ${countsAgainst('h', 'b')} offset 0
    ) as hook
    where ${wasBudgetPaused('b')}
    order by hook.id, b.paused_until desc
  )`

/** Hooks whose circuit breaker is half open, and which have something to send. */
const READY = `ready as materialized (
    select health.hook_id from capacity join hook_health health using (hook_id) cross join lateral (
      select from deliveries d where d.hook_id = health.hook_id and ${IS_DUE} and ${IS_NEXT} limit 1) as due
    where health.failures_in_a_row >= ${OPENS_AFTER} and health.open_until <= now()
      and not exists (select from limits where limits.hook_id = health.hook_id and limits.is_paused)
  )`

/** Those of them that this claim probes. The breaker stays open for every other claim while the probe is in flight. */
const PROBES = `probes as (
    update hook_health set open_until = now() + ${LEASE}
    where hook_id in (select hook_id from ready) and open_until <= now()
    returning hook_id
  )`

/** How many deliveries of each hook may be sent: none during a pause or while the breaker is open, and one as a probe. */
const ALLOWED = `allowed as materialized (
    select capacity.hook_id, health.hook_id is not null as is_failing, probes.hook_id is not null as is_probe, case
        when limits.is_paused then 0
        when probes.hook_id is not null then 1
        when health.open_until > now() or health.failures_in_a_row >= ${OPENS_AFTER} then 0
        else capacity.slots
      end as slots, limits.paused_until as held_until, limits.credential_id, limits.origin, capacity.budget_slots
    from capacity join hooks on hooks.id = capacity.hook_id and hooks.active and hooks.deleted_at is null
    left join hook_health health on health.hook_id = capacity.hook_id
    left join probes on probes.hook_id = capacity.hook_id
    left join limits on limits.hook_id = capacity.hook_id
  )`

/** Deliveries of an `allowed` hook that may be sent, in the order of their due times, which an index holds. */
const firstDue = (slots: string, more = '', heldUntil?: string) => `
  select d.event_id, d.action_id, d.is_final, d.due_at, d.is_final and not d.${UNORDERED} and exists (
    select from deliveries before where ${sameOrder('d', 'before')} and before.event_id < d.event_id) as supersedes
  from deliveries d
  where d.hook_id = allowed.hook_id and ${IS_DUE}${more} and ${isNext(heldUntil)}
  order by d.due_at, d.event_id limit ${slots}
  for update skip locked`

/** How many deliveries of a hook may be sent while its budget recovers. */
const BUDGETED = 'least(allowed.slots, allowed.budget_slots)'

/** Of hooks whose budget was paused: claimed together, final deliveries of all of them first, up to the budget's slots. */
const DUE_IN_BUDGET = `
    select hook_id, event_id, action_id, supersedes, is_failing, is_probe, held_until from (
      select allowed.*, first.*, row_number() over (
        partition by allowed.credential_id, allowed.origin order by first.is_final desc, first.due_at, first.event_id) as rank
      from allowed cross join lateral (
        select * from (${firstDue(BUDGETED, ' and d.is_final', 'allowed.held_until')}) as final
        union all
        select * from (${firstDue(BUDGETED, ' and not d.is_final', 'allowed.held_until')}) as other
        limit ${BUDGETED}
      ) as first
      where allowed.held_until is not null
    ) as ranked
    where rank <= budget_slots`

/** The deliveries to claim. Their rows are locked; rows that another claim has locked are skipped. */
const DUE = `due as materialized (
    select allowed.hook_id, first.event_id, first.action_id, first.supersedes, allowed.is_failing, allowed.is_probe, allowed.held_until
    from allowed cross join lateral (${firstDue('allowed.slots')}) as first
    where allowed.held_until is null
    union all ${DUE_IN_BUDGET}
  )`

/**
 * Final deliveries whose first predecessor this statement has locked. Only these supersede: if another process has just begun
 * to retry the predecessor, unseen by this statement's snapshot, the row has changed, and the final delivery waits.
 */
const SUPERSEDING = `superseding as materialized (
    select due.hook_id, due.event_id from due cross join lateral (
      select from deliveries before
      where ${sameOrder('due', 'before')} and before.event_id < due.event_id and ${isSupersedable('due.held_until')}
        and ${isFree('before')}
      order by before.event_id limit 1
      for update skip locked
    ) as predecessor
    where due.supersedes
  )`

/** The claim itself: a lease, and one more attempt. */
const CLAIMED = `claimed as (
    update deliveries set leased_until = now() + ${LEASE}, attempts = attempts + 1
    from due where deliveries.hook_id = due.hook_id and deliveries.event_id = due.event_id
      and deliveries.hook_id = any(array(select hook_id from capacity)) and deliveries.event_id = any(array(select event_id from due))
      and (not due.supersedes or (due.hook_id, due.event_id) in (select hook_id, event_id from superseding))
    returning deliveries.*, due.is_failing, due.is_probe, due.held_until is not null as is_budget_checked
  )`

/** What a claimed final delivery makes obsolete is never sent. */
const SUPERSEDED = `superseded as (
    update deliveries set state = 'superseded', leased_until = null
    where (hook_id, event_id) in (
      select claimed.hook_id, before.event_id from claimed cross join lateral (
        select before.event_id from deliveries before
        where ${sameOrder('claimed', 'before')} and before.event_id < claimed.event_id limit ${MAX_SUPERSEDED}) as before
      where claimed.is_final and not claimed.${UNORDERED})
    returning *
  )`

/** The records of what was superseded: their last attempts announce no other, and one more says why. */
const RECORDED = `no_next_attempt as (
    update hook_requests set next_attempt_at = null, updated_at = now()
    where id in (select last_request_id from superseded)
  ),
  recorded as (
    insert into hook_requests (id, hook_id, type, action_id, retry_of, url, method, outcome, attempt, event_id)
    select uuidv7(), s.hook_id, 'outgoing', s.action_id, s.first_request_id, hooks.target_url,
      coalesce(hooks.settings #>> '{requests,create,method}', hooks.settings ->> 'request_method', 'POST'), 'superseded', s.attempts, s.event_id
    from superseded s join hooks on hooks.id = s.hook_id order by s.event_id
  )`

/** Every claimed delivery with its event and its action, oldest first. */
const CLAIM = `
  with ${[CAPACITY, LIMITS, READY, PROBES, ALLOWED, DUE, SUPERSEDING, CLAIMED, SUPERSEDED, RECORDED].join(',\n  ')}
  select claimed.id as delivery_id, claimed.hook_id as delivery_hook_id, claimed.attempts, claimed.leased_until, claimed.first_request_id,
    claimed.is_failing, claimed.is_probe, claimed.is_budget_checked, claimed.created_at as waiting_since,
    e.id as event_id, e.previous_status as event_previous_status, e.status as event_status, e.status_reason_code as event_reason, e.gate_event as event_gate,
    e.occurred_at as event_occurred_at,
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
  is_budget_checked: boolean
  waiting_since: string
  event_id: number
  event_previous_status: Status | null
  event_status: Status
  event_reason: ReasonCode
  event_gate: GateEvent | null
  event_occurred_at: string
  tree_version: number
}

/**
 * Claims due deliveries, oldest first, up to the capacity of each hook. `budgetSlots`: what is left of the rate budget of a
 * hook, which counts while that recovers from a pause.
 */
export async function claimDeliveries(
  db: Database,
  capacity: ReadonlyMap<string, number>,
  budgetSlots: ReadonlyMap<string, number> = new Map(),
): Promise<ClaimedDelivery[]> {
  const claimedAt = performance.now()
  const hookIds = [...capacity.keys()]
  const parameters = [
    uuids(hookIds),
    int4s([...capacity.values()]),
    int4s(hookIds.map((id) => budgetSlots.get(id) ?? 1)),
  ]
  const { rows } = await db.executeQuery<ClaimedRow>(CompiledQuery.raw(CLAIM, parameters))
  return rows.map((row) => toClaimed(row, claimedAt))
}

/** A delivery whose next attempt this process now owns, with its event and action. */
export type ClaimedDelivery = ReturnType<typeof toClaimed>

function toClaimed(row: ClaimedRow, claimedAt: number) {
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
      gate_event: row.event_gate,
      occurred_at: row.event_occurred_at,
    },
    // With a few more columns than an action has: picking forty costs more than passing them along.
    action: row as ActionRow,
    /** On this process's monotonic clock (`performance.now()`). */
    claimedAt,
    /** On the same clock: after that another process may claim it. */
    ownedUntil: claimedAt + LEASE_MS,
    /** The claim knew the rate budget of the hook, and that it is not paused. */
    isBudgetChecked: row.is_budget_checked,
    /** Since it was created, or redelivered by a user. */
    waitingSince: row.waiting_since,
    /** The receiver has failed recently: its health has to be updated. */
    isFailing: row.is_failing,
    /** The one attempt that tests whether a failing receiver has recovered. */
    isProbe: row.is_probe,
    treeVersion: row.tree_version,
  }
}
