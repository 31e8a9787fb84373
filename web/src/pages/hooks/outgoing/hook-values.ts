// An outgoing hook as its form shows it, and the change that the form sends. Pure.
import type { Hook } from '#web/base/api/types.ts'
import { changedFields } from '#web/base/form/changes.ts'
import {
  type Condition,
  type ConditionRow,
  conditionOf,
  isEmptyRow,
  rowOf,
} from '#web/resources/hooks/condition-rows.ts'
import { formatBody, hasRoundedNumber, parseBody } from './body-text.ts'
import type { EventKind } from './events.ts'

export const METHODS = ['POST', 'PUT', 'PATCH', 'DELETE', 'GET'] as const
export type Header = { name: string; value: string }

/** The options of all presets: texts, and flags that are `true`, `false`, or empty for the default. */
export const PRESET_TEXTS = ['context', 'project', 'environment', 'environment_url', 'channel'] as const
export const PRESET_FLAGS = ['auto_inactive', 'production'] as const
type PresetOption = (typeof PRESET_TEXTS)[number] | (typeof PRESET_FLAGS)[number]

type PresetInput = `settings.preset.${PresetOption}`

export const presetInput = (option: PresetOption): PresetInput => `settings.preset.${option}`

/** Each field has the name that the API's errors use. */
export type OutgoingValues = Record<PresetInput, string> & {
  name: string
  target_url: string
  /** Empty: that of the application. */
  credential_id: string
  action_type: string
  verify_ssl: boolean
  'settings.request_method': (typeof METHODS)[number]
  'settings.request_headers': Header[]
  'settings.request_body': string
  'settings.timeout_seconds': number | string
  /** Empty for hooks without a preset. */
  'settings.preset.kind': string
  /** Everything else of the settings, as JSON: what a hook captures, its two requests. Empty for most hooks. */
  'settings.more': string
  'trigger_when.events': EventKind[]
  'trigger_when.scope': 'pipeline' | 'resource'
  'trigger_when.conditions': ConditionRow[]
}

export const LABELS: Partial<Record<keyof OutgoingValues, string>> = {
  target_url: 'URL',
  credential_id: 'Credential',
  action_type: 'Type of runs',
  verify_ssl: 'Verify the certificate',
  'settings.request_method': 'Method',
  'settings.request_headers': 'Headers',
  'settings.request_body': 'Body template',
  'settings.timeout_seconds': 'Timeout in seconds',
  'settings.preset.kind': 'Preset',
  'settings.preset.context': 'Context',
  'settings.preset.project': 'Project',
  'settings.preset.environment': 'Environment at GitHub',
  'settings.preset.environment_url': 'URL of the application',
  'settings.preset.channel': 'Channel',
  'settings.preset.auto_inactive': 'Make earlier deployments inactive',
  'settings.preset.production': 'Production environment',
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
type Preset = { kind: string } & Partial<Record<PresetOption, string | boolean>>
/** What the form shows as JSON. */
type MoreSettings = { capture?: []; requests?: object }
type TriggerWhen = {
  events?: EventKind[]
  scope?: 'pipeline' | 'resource'
  conditions?: Condition[]
}

export function valuesOf(hook: Hook): OutgoingValues {
  const { request_method, request_headers, request_body, timeout_seconds, preset, ...more } =
    hook.settings as Settings & MoreSettings & { preset?: Preset }
  const trigger = hook.trigger_when as TriggerWhen
  return {
    name: hook.name,
    target_url: hook.target_url ?? '',
    credential_id: String(hook.credential_id ?? ''),
    action_type: hook.action_type,
    verify_ssl: hook.verify_ssl ?? true,
    'settings.request_method': request_method ?? 'POST',
    'settings.request_headers': request_headers ?? [],
    'settings.request_body': formatBody(request_body),
    'settings.timeout_seconds': timeout_seconds ?? 15,
    'settings.preset.kind': preset?.kind ?? '',
    ...presetValues(preset),
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

function presetValues(preset: Preset | undefined) {
  const options = [...PRESET_TEXTS, ...PRESET_FLAGS]
  const entries = options.map((option) => [presetInput(option), String(preset?.[option] ?? '')])
  return Object.fromEntries(entries) as Record<PresetInput, string>
}

/** The preset with the options that have a value. */
function presetOf(values: OutgoingValues): Preset | undefined {
  const kind = values['settings.preset.kind']
  if (kind === '') return undefined
  const texts = PRESET_TEXTS.map((option) => [option, values[presetInput(option)].trim()])
  const flags = PRESET_FLAGS.map((option) => [option, FLAGS[values[presetInput(option)]] ?? ''])
  return { kind, ...Object.fromEntries([...texts, ...flags].filter(([, value]) => value !== '')) }
}

const FLAGS: Record<string, boolean> = { true: true, false: false }

/** Those of a preset, or in `settings.more`: it has no URL, method, headers or body of its own. */
export function hasOwnRequests(
  values: Pick<OutgoingValues, 'settings.more' | 'settings.preset.kind'>,
): boolean {
  return values['settings.preset.kind'] !== '' || moreOf(values).requests !== undefined
}

/** The settings as the API takes them; undefined while a text in them is no JSON object. */
export function settingsOf(
  values: OutgoingValues,
): (Settings & MoreSettings & { preset?: Preset }) | undefined {
  if (parseBody(values['settings.more']).kind === 'invalid') return undefined
  const more = moreOf(values)
  const preset = presetOf(values)
  const timeout_seconds = Number(values['settings.timeout_seconds'])
  if (preset) return { preset, timeout_seconds }
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
  const { name, target_url, credential_id, action_type, verify_ssl } = changed
  return {
    ...(name !== undefined && { name: name.trim() }),
    ...(target_url !== undefined && !hasOwnRequests(values) && { target_url: target_url.trim() }),
    ...(credential_id !== undefined && { credential_id: Number(credential_id) || null }),
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
    target_url: !hasOwnRequests(values) && values.target_url.trim() === '' ? 'Enter a URL.' : null,
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
