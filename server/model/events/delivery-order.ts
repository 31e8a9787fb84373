// Which delivery of a hook is sent next, as conditions of SQL.

/** Replayed by a user: sent without waiting for its turn. */
export const UNORDERED = 'asked_by is not null'

/**
 * What the hook `hooks` sends about an action depends on what it has sent before: no two of these requests are ever in flight
 * at once, and replays wait for their turn.
 */
export const IS_STRICT = `(hooks.settings -> 'capture' is not null or hooks.settings -> 'preset' is not null)`

/**
 * Deliveries are ordered per hook and action: `other` is pending in the same order as `one`. The hook is compared in a way
 * that no index serves: without statistics the planner would use the index by hook and read everything that is pending.
 */
export const sameOrder = (one: string, other: string) =>
  `${other}.action_id = ${one}.action_id and ${other}.hook_id is not distinct from ${one}.hook_id
    and ${other}.state = 'pending' and not ${other}.${UNORDERED}`

/**
 * `before` has failed, or is postponed behind one that has, or was due before the end of a pause, `heldUntil`: a final
 * delivery does not wait for it.
 */
export const isSupersedable = (heldUntil?: string) =>
  `(before.attempts > 0 or before.due_at > now()${heldUntil ? ` or coalesce(before.due_at < ${heldUntil}, false)` : ''})`

/**
 * The delivery `d` is the first of its hook and action, or a final one whose predecessors are supersedable: it supersedes
 * them. Such a predecessor is not sent once a final one is pending. A replay is sent immediately. What was redelivered in order
 * may come before one that is in flight, and waits for that one.
 */
export const isNext = (heldUntil?: string) => `(d.${UNORDERED} or (
  coalesce((
    select d.is_final and ${isSupersedable(heldUntil)} and not exists (
      select from deliveries flying where ${sameOrder('d', 'flying')} and flying.event_id < d.event_id and flying.leased_until >= now())
    from deliveries before where ${sameOrder('d', 'before')} and before.event_id < d.event_id
    order by before.event_id limit 1), true)
  and not (d.is_redelivered and exists (
    select from deliveries flying where ${sameOrder('d', 'flying')} and flying.event_id > d.event_id and flying.leased_until >= now()))
  and not ((d.attempts > 0${heldUntil ? ` or d.due_at < ${heldUntil}` : ''}) and not d.is_final and exists (
    select from deliveries later where ${sameOrder('d', 'later')} and later.event_id > d.event_id and later.is_final))))`
export const IS_NEXT = isNext()

// What follows compares event ids in every case: without statistics the planner uses the index by action alone only then.

/**
 * The time before which the new delivery `d`, not a final one, is not sent: when those pending before it are due. Null behind
 * a final one, which does not wait for the retries of its predecessors.
 */
export const DUE_AFTER = `(
  select max(before.due_at) from deliveries before
  where ${sameOrder('d', 'before')} and before.event_id < d.event_id
  having not bool_or(before.is_final))`

/** More than an action has events: a bound for what one statement changes. */
const MAX_BEHIND = 100

/**
 * The rows of the deliveries that are not sent before `one` is tried again: those after it, up to a final one, that nobody has
 * tried. Rows that another process works on are left alone.
 */
export const waitingBehind = (one: string) => `
  select behind.ctid as row_id from deliveries behind
  where ${sameOrder(one, 'behind')} and behind.event_id > ${one}.event_id and behind.attempts = 0
    and not coalesce((
      select final.event_id <= behind.event_id from deliveries final
      where ${sameOrder(one, 'final')} and final.event_id > ${one}.event_id and final.is_final
      order by final.event_id limit 1), false)
  order by behind.event_id limit ${MAX_BEHIND}
  for update of behind skip locked`
