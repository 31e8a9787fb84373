import { CompiledQuery, sql } from 'kysely'
import type { ActionRow } from '#model/actions/present.ts'
import { int4s, uuids } from '#platform/database/binary-arrays.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { OPENS_AFTER } from './breaker.ts'

/** One attempt that this process now owns, with what it is about. */
export type ClaimedDelivery = {
  id: string
  hookId: string
  /** 1 for the first, also after a person has asked for the delivery anew. */
  attempt: number
  /** Whatever is written about the delivery names its claim, and counts only while it is the newest. */
  lease: string
  firstRequestId: string | null
  event: {
    id: number
    previous_status: Status | null
    status: Status
    status_reason_code: ReasonCode
    occurred_at: string
  }
  action: ActionRow
  /** On this process's own clock (`performance.now()`): from then on another may try it. */
  ownedUntil: number
  /** The receiver has failed lately: its health has to be written down again. */
  isAiling: boolean
  /** The one that is let through to see whether a sick receiver is well again. */
  isProbe: boolean
  treeVersion: number
}

/** Longer than any attempt may take. A delivery whose process died is taken up by another after this. */
const LEASE_MS = 45_000
const LEASE = `interval '${LEASE_MS} milliseconds'`

/** Not waiting for its turn: a person asked for it. */
const UNORDERED = 'asked_by is not null'
/**
 * What waits with `one` for the same hook and action. The hook is compared in a way that no index serves: while
 * the planner knows little of the table it would take the index by hooks, and read everything that waits.
 */
const inLaneOf = (one: string, other: string) =>
  `${other}.action_id = ${one}.action_id and ${other}.hook_id is not distinct from ${one}.hook_id
    and ${other}.state = 'pending' and not ${other}.${UNORDERED}`

/**
 * The first of its action and hook, or a final one whose forerunners have failed: these it replaces. A
 * forerunner that has failed does not go again once a final one is there. What a person asked for goes at once.
 */
const MAY_GO = `(d.${UNORDERED} or (
  coalesce((
    select d.is_final and before.attempts > 0 and coalesce(before.leased_until < now(), true)
    from deliveries before where ${inLaneOf('d', 'before')} and before.event_id < d.event_id
    order by before.event_id limit 1), true)
  and not (d.attempts > 0 and not d.is_final and exists (
    select from deliveries later where ${inLaneOf('d', 'later')} and later.event_id > d.event_id and later.is_final))))`

const IS_DUE = `d.state = 'pending' and d.due_at <= now() and (d.leased_until is null or d.leased_until < now())`

// What belongs to a delivery is looked up by its key, one by one, for the same reason.
// A final delivery takes the place of a forerunner only while it holds that one's row: another process that has begun
// to try it again a moment ago, unseen by this statement's snapshot, has then changed the row, and the final one waits.
const CLAIM = `
  with room as materialized (select * from unnest($1::uuid[], $2::int[]) as r (hook_id, places)),
  ready as materialized (
    select health.hook_id from room join hook_health health using (hook_id) cross join lateral (
      select from deliveries d where d.hook_id = health.hook_id and ${IS_DUE} and ${MAY_GO} limit 1) as due
    where health.failures_in_a_row >= ${OPENS_AFTER} and health.open_until <= now()
  ),
  probes as (
    update hook_health set open_until = now() + ${LEASE}
    where hook_id in (select hook_id from ready) and open_until <= now()
    returning hook_id
  ),
  allowed as materialized (
    select room.hook_id, health.hook_id is not null as is_ailing, probes.hook_id is not null as is_probe, case
        when probes.hook_id is not null then 1
        when health.open_until > now() or health.failures_in_a_row >= ${OPENS_AFTER} then 0
        else room.places
      end as places
    from room join hooks on hooks.id = room.hook_id and hooks.active and hooks.deleted_at is null
    left join hook_health health on health.hook_id = room.hook_id
    left join probes on probes.hook_id = room.hook_id
  ),
  due as materialized (
    select allowed.hook_id, first.*, allowed.is_ailing, allowed.is_probe from allowed cross join lateral (
      select d.event_id, d.action_id, d.is_final and not d.${UNORDERED} and exists (
        select from deliveries before where ${inLaneOf('d', 'before')} and before.event_id < d.event_id) as replaces
      from deliveries d
      where d.hook_id = allowed.hook_id and ${IS_DUE} and ${MAY_GO}
      order by d.due_at, d.event_id limit allowed.places
      for update skip locked
    ) as first
  ),
  replaced as materialized (
    select due.hook_id, due.event_id from due cross join lateral (
      select from deliveries before
      where ${inLaneOf('due', 'before')} and before.event_id < due.event_id and before.attempts > 0
        and (before.leased_until is null or before.leased_until < now())
      order by before.event_id limit 1
      for update skip locked
    ) as head
    where due.replaces
  ),
  claimed as (
    update deliveries set leased_until = now() + ${LEASE}, attempts = attempts + 1
    from due where deliveries.hook_id = due.hook_id and deliveries.event_id = due.event_id
      and (not due.replaces or (due.hook_id, due.event_id) in (select hook_id, event_id from replaced))
    returning deliveries.*, due.is_ailing, due.is_probe
  ),
  superseded as (
    update deliveries set state = 'superseded', leased_until = null
    where (hook_id, event_id) in (
      select claimed.hook_id, before.event_id from claimed cross join lateral (
        select before.event_id from deliveries before
        where ${inLaneOf('claimed', 'before')} and before.event_id < claimed.event_id limit 100) as before
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
    claimed.is_ailing, claimed.is_probe, e.id as event_id, e.previous_status as event_previous_status, e.status as event_status,
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
  is_ailing: boolean
  is_probe: boolean
  event_id: number
  event_previous_status: Status | null
  event_status: Status
  event_reason: ReasonCode
  event_occurred_at: string
  tree_version: number
}

/** Takes what is due, for each hook as many as there is room for; oldest first. */
export async function claimDeliveries(
  db: Database,
  room: ReadonlyMap<string, number>,
): Promise<ClaimedDelivery[]> {
  const ownedUntil = performance.now() + LEASE_MS
  const parameters = [uuids([...room.keys()]), int4s([...room.values()])]
  const { rows } = await db.executeQuery<ClaimedRow>(CompiledQuery.raw(CLAIM, parameters))
  return rows.map((row) => toClaimed(row, ownedUntil))
}

function toClaimed(row: ClaimedRow, ownedUntil: number): ClaimedDelivery {
  return {
    id: row.delivery_id,
    hookId: row.delivery_hook_id,
    attempt: row.attempts,
    lease: row.leased_until,
    firstRequestId: row.first_request_id,
    event: {
      id: row.event_id,
      previous_status: row.event_previous_status,
      status: row.event_status,
      status_reason_code: row.event_reason,
      occurred_at: row.event_occurred_at,
    },
    // With a few columns more than an action has: taking forty apart costs more than sending them along.
    action: row,
    ownedUntil,
    isAiling: row.is_ailing,
    isProbe: row.is_probe,
    treeVersion: row.tree_version,
  }
}

/**
 * The hooks that have something to send now. What is left of hooks that were switched off or removed is noted
 * as missed: it can be asked for again, and does not pour out when somebody switches the hook on. Whatever is being
 * tried at this moment is left to the one who tries it.
 */
export async function findHooksWithWork(db: Database): Promise<string[]> {
  const { rows } = await sql<{ hook_id: string; is_on: boolean; is_due: boolean }>`
    with recursive waiting as (
      (select hook_id from deliveries where state = 'pending' order by hook_id limit 1)
      union all
      select (select d.hook_id from deliveries d where d.state = 'pending' and d.hook_id > waiting.hook_id
        order by d.hook_id limit 1)
      from waiting where waiting.hook_id is not null
    )
    select waiting.hook_id, hooks.active and hooks.deleted_at is null as is_on,
      coalesce(health.open_until <= now(), true) and exists (
        select from deliveries d where d.hook_id = waiting.hook_id and ${sql.raw(IS_DUE)}) as is_due
    from waiting join hooks on hooks.id = waiting.hook_id
    left join hook_health health on health.hook_id = waiting.hook_id`.execute(db)
  await noteMissed(
    db,
    rows.filter((row) => !row.is_on).map((row) => row.hook_id),
  )
  return rows.filter((row) => row.is_on && row.is_due).map((row) => row.hook_id)
}

async function noteMissed(db: Database, hookIds: string[]): Promise<void> {
  if (hookIds.length === 0) return
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
