// An outgoing hook as its form shows it, and the change that the form sends. Pure.
import type { Hook } from '../../api/types.ts'
import { changedFields } from '../../ui/form/changes.ts'
import { type Condition, type ConditionRow, conditionOf, isEmptyRow, rowOf } from '../condition-rows.ts'
import { formatBody, hasRoundedNumber, parseBody } from './body-text.ts'
import type { EventKind } from './events.ts'

export const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const
export type Header = { name: string; value: string }

/** Each field has the name that the API's errors use. */
export type OutgoingValues = {
  name: string
  target_url: string
  action_type: string
  verify_ssl: boolean
  'settings.request_method': (typeof METHODS)[number]
  'settings.request_headers': Header[]
  'settings.request_body': string
  'settings.timeout_seconds': number | string
  /** Everything else of the settings, as JSON: what a hook captures, its two requests. Empty for most hooks. */
  'settings.more': string
  'trigger_when.events': EventKind[]
  'trigger_when.scope': 'pipeline' | 'resource'
  'trigger_when.conditions': ConditionRow[]
}

export const LABELS: Partial<Record<keyof OutgoingValues, string>> = {
  target_url: 'URL',
  action_type: 'Type of runs',
  verify_ssl: 'Verify the certificate',
  'settings.request_method': 'Method',
  'settings.request_headers': 'Headers',
  'settings.request_body': 'Body template',
  'settings.timeout_seconds': 'Timeout in seconds',
  'settings.more': 'Requests and captured values',
  'trigger_when.events': 'Events',
  'trigger_when.scope': 'Runs',
  'trigger_when.conditions': 'Conditions',
}

type Settings = {
  request_method?: OutgoingValues['settings.request_method']
  request_headers?: Header[]
  request_body?: Record<string, unknown> | null
  timeout_seconds?: number
}
/** What the form shows as JSON. */
type MoreSettings = { capture?: []; requests?: object; preset?: object }
type TriggerWhen = {
  events?: EventKind[]
  scope?: 'pipeline' | 'resource'
  conditions?: Condition[]
}

export function valuesOf(hook: Hook): OutgoingValues {
  const { request_method, request_headers, request_body, timeout_seconds, ...more } =
    hook.settings as Settings & MoreSettings
  const trigger = hook.trigger_when as TriggerWhen
  return {
    name: hook.name,
    target_url: hook.target_url ?? '',
    action_type: hook.action_type,
    verify_ssl: hook.verify_ssl ?? true,
    'settings.request_method': request_method ?? 'POST',
    'settings.request_headers': request_headers ?? [],
    'settings.request_body': formatBody(request_body),
    'settings.timeout_seconds': timeout_seconds ?? 15,
    'settings.more': Object.keys(more).length === 0 ? '' : formatBody(more),
    'trigger_when.events': trigger.events ?? ['action.status_changed'],
    'trigger_when.scope': trigger.scope ?? 'pipeline',
    'trigger_when.conditions': (trigger.conditions ?? []).map(rowOf),
  }
}

const moreOf = (values: Pick<OutgoingValues, 'settings.more'>): MoreSettings => {
  const parsed = parseBody(values['settings.more'])
  return parsed.kind === 'body' ? parsed.body : {}
}

/** Its requests are in `settings.more`: it has no URL, method, headers or body of its own. */
export function hasOwnRequests(values: Pick<OutgoingValues, 'settings.more'>): boolean {
  const { requests, preset } = moreOf(values)
  return (requests ?? preset) !== undefined
}

/** The settings as the API takes them; undefined while a text in them is no JSON object. */
export function settingsOf(values: OutgoingValues): (Settings & MoreSettings) | undefined {
  if (parseBody(values['settings.more']).kind === 'invalid') return undefined
  const more = moreOf(values)
  const timeout_seconds = Number(values['settings.timeout_seconds'])
  if (hasOwnRequests(values)) return { ...more, timeout_seconds }
  const parsed = parseBody(values['settings.request_body'])
  if (parsed.kind === 'invalid') return undefined
  return {
    ...more,
    request_method: values['settings.request_method'],
    request_headers: values['settings.request_headers'].filter(
      ({ name, value }) => name !== '' || value !== '',
    ),
    request_body: parsed.kind === 'body' ? parsed.body : null,
    timeout_seconds,
  }
}

/** What changed; an object is sent as a whole, because the API replaces it as a whole. */
export function changeOf(base: OutgoingValues, values: OutgoingValues) {
  const changed = changedFields(base, values)
  const has = (prefix: string) => Object.keys(changed).some((name) => name.startsWith(prefix))
  const { name, target_url, action_type, verify_ssl } = changed
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(target_url !== undefined && !hasOwnRequests(values) && { target_url: target_url.trim() }),
    ...(action_type !== undefined && { action_type: action_type as 'deploy' }),
    ...(verify_ssl !== undefined && { verify_ssl }),
    // Its shape is the API's business: the form passes it on.
    ...(has('settings.') && { settings: settingsOf(values) as object }),
    ...(has('trigger_when.') && {
      trigger_when: {
        events: values['trigger_when.events'],
        scope: values['trigger_when.scope'],
        // Rows that were left empty do not count.
        conditions: values['trigger_when.conditions'].filter((row) => !isEmptyRow(row)).map(conditionOf),
      },
    }),
  }
}

/** What the API cannot tell, because it would not get it. `stored` is the body as it was loaded. */
export function validateValues(base: OutgoingValues, values: OutgoingValues, stored: unknown) {
  const parsed = parseBody(values['settings.request_body'])
  const more = parseBody(values['settings.more'])
  const settingsChanged = Object.keys(changedFields(base, values)).some((name) =>
    name.startsWith('settings.'),
  )
  const isRounded = settingsChanged && hasRoundedNumber(stored)
  const timeout = Number(values['settings.timeout_seconds'])
  return {
    name: values.name.trim() === '' ? 'Enter a name.' : null,
    target_url: values.target_url.trim() === '' ? 'Enter a URL.' : null,
    'settings.request_body': isRounded
      ? 'Contains a number that browsers round. Change the settings of this hook with the API or gantry.yaml.'
      : parsed.kind === 'invalid'
        ? parsed.message
        : null,
    'settings.timeout_seconds':
      Number.isInteger(timeout) && timeout >= 1 && timeout <= 30 ? null : 'Enter 1 to 30 seconds.',
    'settings.more': more.kind === 'invalid' ? more.message : null,
    'trigger_when.events': values['trigger_when.events'].length === 0 ? 'Select at least one event.' : null,
  }
}
