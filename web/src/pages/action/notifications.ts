// What the receivers of a run's notifications know, in words. Pure.
import type { ActionNotification } from '#web/base/api/types.ts'
import { formatClock } from '#web/base/ui/format.ts'
import { type Delivery, deliveriesSummary } from '#web/pages/hooks/outgoing/deliveries.ts'

const SERVICES: Record<string, string> = {
  github_status: 'GitHub',
  gitlab_status: 'GitLab',
  gitea_status: 'Gitea',
}

type Shown = Pick<
  ActionNotification,
  'preset' | 'receiver' | 'remote_state' | 'remote_status' | 'remote_detail' | 'checked_at' | 'repairs'
>

/** `GitHub shows success, checked 14:05`; undefined for receivers that are not read back. */
export function remoteText(notification: Shown): string | undefined {
  const { preset, remote_state, remote_status, remote_detail, checked_at, repairs } = notification
  if (!isReadBack(notification)) return undefined
  const service = SERVICES[preset ?? ''] ?? 'The service'
  const checked = checked_at === null ? '' : `, checked ${formatClock(checked_at)}`
  switch (remote_state) {
    case 'matches':
      return `${service} shows ${remote_status}${checked}`
    case 'repaired':
      return `${service} shows ${remote_status} after it was sent again${checked}`
    case 'overridden':
      return `${remote_detail ?? 'Another system has set the status.'} Left alone${checked}`
    case 'unknown':
      return `Could not read the status from ${service}${checked}${remote_detail ? `: ${remote_detail}` : '.'}`
    case 'not_checked':
      return repairs > 0 ? `${remote_detail ?? ''} Sent again${checked}`.trim() : 'Not checked yet'
  }
}

export function isReadBack({ preset }: Pick<ActionNotification, 'preset'>): boolean {
  return Object.hasOwn(SERVICES, preset ?? '')
}

/** `Waiting for api.github.com until 14:05 (rate limit)`; undefined unless it is paused. */
export function waitingText({
  receiver,
  paused_until,
  paused_reason,
}: Pick<ActionNotification, 'receiver' | 'paused_until' | 'paused_reason'>): string | undefined {
  if (paused_until === null) return undefined
  const reason = /rate limit/i.test(paused_reason ?? '') ? ' (rate limit)' : ''
  return `Waiting for ${receiver ?? 'the receiver'} until ${formatClock(paused_until)}${reason}`
}

/** `2 delivered, 1 retrying, 1 received`: as many as there are rows. */
export function requestsSummary(deliveries: Delivery[], hasCall: boolean): string {
  if (!hasCall) return deliveriesSummary(deliveries)
  return deliveries.length === 0 ? '1 received' : `${deliveriesSummary(deliveries)}, 1 received`
}

const MINUTE_MS = 60_000
const SOON_MS = 4_000
const LATER_MS = 20_000
/** The last check is ten minutes after the end. */
const CHECKED_FOR_MS = 12 * MINUTE_MS
const DELIVERED_WITHIN_MS = 30_000

/** How soon to ask again; false when nothing is going to change by itself. */
export function refetchInterval(
  notifications: readonly Pick<ActionNotification, 'preset' | 'state'>[] | undefined,
  completedAt: string | null,
  now: number,
): number | false {
  const ageMs = completedAt === null ? 0 : now - Date.parse(completedAt)
  const isOpen = notifications?.some(({ state }) => state === 'retrying' || state === 'paused')
  if (isOpen || ageMs < DELIVERED_WITHIN_MS) return SOON_MS
  return notifications?.some(isReadBack) && ageMs < CHECKED_FOR_MS ? LATER_MS : false
}
