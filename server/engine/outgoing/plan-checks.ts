import { isEnd } from '#model/actions/status.ts'
import type { FinishedAttempt } from './attempt-delivery.ts'

/** The first of those in engine/reconciling/check-schedule.ts. */
const FIRST_CHECK = `interval '5 seconds'`

/**
 * Appended to the statement that stores attempts: a final status that was delivered is read back (engine/reconciling). A status
 * of an earlier event that was sent after it, by a replay, has replaced it: then it is read back again.
 */
export const PLAN_CHECKS = (parameter: string) => `
  sent_statuses as materialized (
    select * from json_to_recordset(${parameter}::json) as s (action_id bigint, hook_id uuid, event_id bigint,
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

/** As JSON; null, nearly always, when there are none. Once per hook and action, the last event: a statement cannot change a row twice. */
export function sentStatuses(attempts: readonly FinishedAttempt[]): string | null {
  const rows = new Map<string, { event_id: number; [column: string]: unknown }>()
  for (const { delivery, sentStatus, credentialId } of attempts) {
    if (!sentStatus || credentialId == null) continue
    const { hookId: hook_id, action, event } = delivery
    const key = `${hook_id} ${action.id}`
    if ((rows.get(key)?.event_id ?? 0) > event.id) continue
    rows.set(key, {
      action_id: action.id,
      hook_id,
      event_id: event.id,
      is_final: isEnd(event.status),
      credential_id: credentialId,
      ...sentStatus,
    })
  }
  return rows.size === 0 ? null : JSON.stringify([...rows.values()])
}
