// Which delivery of a hook is sent next, as conditions of SQL.

/** Replayed by a user: sent without waiting for its turn. */
export const UNORDERED = 'asked_by is not null'

/**
 * Deliveries are ordered per hook and action: `other` is pending in the same order as `one`. The hook is compared in a way
 * that no index serves: without statistics the planner would use the index by hook and read everything that is pending.
 */
export const sameOrder = (one: string, other: string) =>
  `${other}.action_id = ${one}.action_id and ${other}.hook_id is not distinct from ${one}.hook_id
    and ${other}.state = 'pending' and not ${other}.${UNORDERED}`

/**
 * The delivery `d` is the first of its hook and action, or a final one whose predecessors have failed: it supersedes them.
 * A failed predecessor is not retried once a final one is pending. A replay is sent immediately.
 */
export const IS_NEXT = `(d.${UNORDERED} or (
  coalesce((
    select d.is_final and before.attempts > 0 and coalesce(before.leased_until < now(), true)
    from deliveries before where ${sameOrder('d', 'before')} and before.event_id < d.event_id
    order by before.event_id limit 1), true)
  and not (d.attempts > 0 and not d.is_final and exists (
    select from deliveries later where ${sameOrder('d', 'later')} and later.event_id > d.event_id and later.is_final))))`
