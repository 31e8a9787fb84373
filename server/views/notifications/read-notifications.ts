import { sql } from 'kysely'
import { type CapturedValues, presentCaptured } from '#model/hooks/captured.ts'
import { pauseOf } from '#model/hooks/health.ts'
import { loadPauses } from '#model/hooks/rate-budgets.ts'
import type { HookCapture } from '#model/hooks/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import type { RemoteState } from '#platform/database/tables.ts'
import { pickFields } from '#platform/http/schemas.ts'
import { MASK } from '#platform/masking/masked.ts'
import { type DeliveryRow, presentNotification } from './present-notification.ts'
import { actionNotificationSchema } from './schemas.ts'

type HookRow = {
  hook_id: string
  hook_name: string
  active: boolean
  target_url: string
  preset: string | null
  capture: HookCapture[] | null
  captured: CapturedValues | null
  has_hidden: boolean
  open_until: string | null
  now: string
  remote_state: RemoteState | null
  remote_status: string | null
  remote_detail: string | null
  checked_at: string | null
  repairs: number | null
}

/** One entry per hook that notified somebody about the action, or is about to; by name. */
export async function readNotifications(db: Database, actionId: number, options: { withCaptured: boolean }) {
  const { rows } = await sql<HookRow & DeliveryRow>`
    select d.hook_id, h.name as hook_name, h.active, h.target_url, h.settings -> 'preset' ->> 'kind' as preset,
      h.settings -> 'capture' as capture, v.values as captured, v.hidden is not null as has_hidden,
      health.open_until, now() as now, c.remote_state, c.remote_status, c.remote_detail, c.checked_at, c.repairs,
      d.state, d.attempts, d.due_at, coalesce(d.leased_until > now(), false) as is_in_progress, d.last_request_id,
      r.error, r.response_status_code
    from deliveries d join hooks h on h.id = d.hook_id and h.deleted_at is null
    left join hook_health health on health.hook_id = d.hook_id
    left join captured_values v on v.action_id = d.action_id and v.hook_id = d.hook_id
    left join status_checks c on c.action_id = d.action_id and c.hook_id = d.hook_id
    left join hook_requests r on r.id = d.last_request_id
    where d.action_id = ${actionId}
    order by h.name, d.hook_id, d.event_id`.execute(db)
  const pauses = await loadPauses(db, [...new Set(rows.map(({ hook_id }) => hook_id))])
  return [...Map.groupBy(rows, ({ hook_id }) => hook_id).values()].flatMap((ofHook) => {
    const hook = ofHook[0]!
    const shown = presentNotification(ofHook, pauseOf(hook, hook, pauses.get(hook.hook_id)))
    if (!shown) return []
    return pickFields(actionNotificationSchema, {
      ...hook,
      ...shown,
      receiver: URL.parse(hook.target_url)?.host ?? null,
      remote_state: hook.remote_state ?? 'not_checked',
      repairs: hook.repairs ?? 0,
      captured: capturedOf(hook, options),
    })
  })
}

/** Captured values are parts of answers, which only callers who may edit the hook see. */
function capturedOf({ capture, captured, has_hidden }: HookRow, { withCaptured }: { withCaptured: boolean }) {
  const hidden = (capture ?? []).filter((one) => one.hidden)
  const sealed = has_hidden ? hidden.map(({ name }) => [name, MASK]) : []
  const values = { ...captured, ...Object.fromEntries(sealed) }
  const masked = withCaptured ? hidden : Object.keys(values).map((name) => ({ name, hidden: true }))
  return presentCaptured(values, masked)
}
