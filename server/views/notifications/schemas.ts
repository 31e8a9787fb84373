// The notifications room: what the receivers of an action's notifications know by now, per hook.
import * as t from '#platform/http/schemas.ts'

export const NOTIFICATION_STATES = ['delivered', 'retrying', 'paused', 'superseded', 'failed'] as const
const REMOTE_STATES = ['matches', 'repaired', 'overridden', 'unknown', 'not_checked'] as const

export const actionNotificationSchema = t.namedObject('ActionNotification', {
  hook_id: t.described(t.Uuid, 'The id of the outgoing hook.'),
  hook_name: t.Text('The name of the outgoing hook.'),
  receiver: t.TextOrNull('The host that it notifies; null when its URL has none.'),
  preset: t.TextOrNull('The kind of its preset, such as `github_status`; null without one.'),
  state: t.Word(
    NOTIFICATION_STATES,
    '`delivered`: the receiver has the last status. `retrying`: a status is being sent, or is sent again later. `paused`: the same, and nothing goes out before `paused_until`. `superseded`: not sent, because a later status was. `failed`: not delivered, and not tried again.',
  ),
  paused_until: t.TimeOrNull('Nothing is sent to the receiver before this time; null unless paused.'),
  paused_reason: t.TextOrNull('Why it is paused; null unless paused.'),
  next_attempt_at: t.TimeOrNull(
    'When the next status is sent, after any pause; null when none is to be sent.',
  ),
  last_error: t.TextOrNull('Why the last status is not delivered yet, or was not; null otherwise.'),
  attempts: t.Count('How often the last status was sent, or tried to.'),
  last_request_id: t.described(
    t.UuidOrNull,
    'The id of the newest request, for `GET /hook-requests/{id}`; null before the first.',
  ),
  remote_state: t.Word(
    REMOTE_STATES,
    'For presets that set a commit status, which is read back. `matches`: the service shows what was sent. `repaired`: the same, after it was sent again. `overridden`: it shows a status set by another tool or a newer run; left alone. `unknown`: it could not be read, see `remote_detail`. `not_checked`: not read back, or not yet.',
  ),
  remote_status: t.TextOrNull('The status that the service showed, in its own words; null if unknown.'),
  remote_detail: t.TextOrNull('Details about `remote_state`; null if there are none.'),
  checked_at: t.TimeOrNull('When the status was last read back; null before.'),
  repairs: t.Count('How often the status was sent again because the service showed another one; at most 2.'),
  captured: t.AnyObject(
    'What the hook has captured from answers for this action, by name. Hidden values are masked; for callers without `hook:edit` all are.',
  ),
  response_status_code: t.IntegerOrNull('The status code of the last response; null without one.'),
})
export type ActionNotification = t.Static<typeof actionNotificationSchema>

export const notificationSchemas = [actionNotificationSchema]
