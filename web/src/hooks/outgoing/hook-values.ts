// An outgoing hook as its form shows it, and the change that the form sends. Pure.
import type { Hook } from '../../api/types.ts'
import { changedFields } from '../../ui/form/changes.ts'
import { formatBody, hasRoundedNumber, parseBody } from './body-text.ts'
import { type ConditionInput, toConditions, toInputs } from './conditions.ts'
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
  'trigger_when.events': EventKind[]
  'trigger_when.scope': 'pipeline' | 'resource'
  'trigger_when.conditions': ConditionInput[]
}

export const LABELS: Partial<Record<keyof OutgoingValues, string>> = {
  target_url: 'URL',
  action_type: 'Type of runs',
  verify_ssl: 'Verify the certificate',
  'settings.request_method': 'Method',
  'settings.request_headers': 'Headers',
  'settings.request_body': 'Body template',
  'settings.timeout_seconds': 'Timeout in seconds',
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
type TriggerWhen = {
  events?: EventKind[]
  scope?: 'pipeline' | 'resource'
  conditions?: Parameters<typeof toInputs>[0]
}

export function valuesOf(hook: Hook): OutgoingValues {
  const settings = hook.settings as Settings
  const trigger = hook.trigger_when as TriggerWhen
  return {
    name: hook.name,
    target_url: hook.target_url ?? '',
    action_type: hook.action_type,
    verify_ssl: hook.verify_ssl ?? true,
    'settings.request_method': settings.request_method ?? 'POST',
    'settings.request_headers': settings.request_headers ?? [],
    'settings.request_body': formatBody(settings.request_body),
    'settings.timeout_seconds': settings.timeout_seconds ?? 15,
    'trigger_when.events': trigger.events ?? ['action.status_changed'],
    'trigger_when.scope': trigger.scope ?? 'pipeline',
    'trigger_when.conditions': toInputs(trigger.conditions ?? []),
  }
}

/** The settings as the API takes them; undefined while the body is no JSON object. */
export function settingsOf(values: OutgoingValues): Settings | undefined {
  const parsed = parseBody(values['settings.request_body'])
  if (parsed.kind === 'invalid') return undefined
  return {
    request_method: values['settings.request_method'],
    request_headers: values['settings.request_headers'].filter(
      ({ name, value }) => name !== '' || value !== '',
    ),
    request_body: parsed.kind === 'body' ? parsed.body : null,
    timeout_seconds: Number(values['settings.timeout_seconds']),
  }
}

/** What changed; an object is sent as a whole, because the API replaces it as a whole. */
export function changeOf(base: OutgoingValues, values: OutgoingValues) {
  const changed = changedFields(base, values)
  const has = (prefix: string) => Object.keys(changed).some((name) => name.startsWith(prefix))
  const { name, target_url, action_type, verify_ssl } = changed
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(target_url !== undefined && { target_url: target_url.trim() }),
    ...(action_type !== undefined && { action_type: action_type as 'deploy' }),
    ...(verify_ssl !== undefined && { verify_ssl }),
    ...(has('settings.') && { settings: settingsOf(values)! }),
    ...(has('trigger_when.') && {
      trigger_when: {
        events: values['trigger_when.events'],
        scope: values['trigger_when.scope'],
        conditions: toConditions(values['trigger_when.conditions']),
      },
    }),
  }
}

/** What the API cannot tell, because it would not get it. `stored` is the body as it was loaded. */
export function validateValues(base: OutgoingValues, values: OutgoingValues, stored: unknown) {
  const parsed = parseBody(values['settings.request_body'])
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
    'trigger_when.events': values['trigger_when.events'].length === 0 ? 'Select at least one event.' : null,
  }
}
