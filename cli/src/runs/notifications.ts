// What the receivers of a run's notifications know, as text. Pure.
import type { components } from '@gantry/client'
import type { Column } from '../table.ts'

type Notification = components['schemas']['ActionNotification']

/** `14:05`; another day with its date. */
export function clock(iso: string, now = new Date()): string {
  const time = new Date(iso)
  const text = time.toTimeString().slice(0, 5)
  if (time.toDateString() === now.toDateString()) return text
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())} ${text}`
}

const two = (number: number) => String(number).padStart(2, '0')

/** `shows success, checked 14:05`. */
export function remoteText(notification: Notification, now = new Date()): string {
  const { remote_state, remote_status, remote_detail, checked_at } = notification
  const checked = checked_at === null ? '' : `, checked ${clock(checked_at, now)}`
  if (remote_state === 'matches') return `shows ${remote_status}${checked}`
  if (remote_state === 'repaired') return `shows ${remote_status} after it was sent again${checked}`
  if (remote_state === 'not_checked') return remote_detail ? `${remote_detail} Sent again${checked}` : ''
  return `${remote_state}${checked}: ${remote_detail ?? ''}`
}

type Pause = { receiver: string | null; paused_until: string | null; paused_reason: string | null }

/** `for api.github.com until 14:05 (rate limit)`, in the time zone of the terminal; null while it does not wait. */
export function waitText({ receiver, paused_until, paused_reason }: Pause, now = new Date()): string | null {
  if (paused_until === null) return null
  const [, reason = 'attempts failed'] = /\(([^()]*)\)\.?$/.exec(paused_reason ?? '') ?? []
  return `for ${receiver ?? 'the receiver'} until ${clock(paused_until, now)} (${reason})`
}

/** `waiting for api.github.com until 14:05 (rate limit)`, or why it is not delivered. */
export function detailOf(notification: Notification, now = new Date()): string {
  const { state, next_attempt_at, last_error } = notification
  const wait = waitText(notification, now)
  if (wait !== null) return `waiting ${wait}`
  const next =
    state === 'retrying' && next_attempt_at !== null ? `Next attempt: ${clock(next_attempt_at, now)}.` : ''
  return [last_error, next].filter(Boolean).join(' ')
}

const STYLES = { delivered: 'green', failed: 'red', paused: 'yellow', retrying: 'yellow' } as const

export const NOTIFICATIONS: Column<Notification>[] = [
  {
    title: 'state',
    text: ({ state }) => state,
    style: ({ state }) => (state === 'superseded' ? undefined : STYLES[state]),
  },
  { title: 'hook', text: ({ hook_name }) => hook_name },
  { title: 'receiver', text: ({ receiver }) => receiver ?? '' },
  { title: 'shows', text: (notification) => remoteText(notification) },
  { title: 'detail', text: (notification) => detailOf(notification) },
]
