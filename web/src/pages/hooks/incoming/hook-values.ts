// An incoming hook as its form shows it, and back. Pure.
import type { components } from '#client/index.ts'
import type { Hook } from '#web/base/api/types.ts'
import {
  type Condition,
  type ConditionRow,
  conditionInput,
  conditionOf,
  parsed,
  rowOf,
} from '#web/resources/hooks/condition-rows.ts'
import { POLL_LABELS, type PollValues, pollInput, pollOf, readPoll } from './poll-values.ts'

type Schemas = components['schemas']
export type IncomingHookBody = Schemas['CreateIncomingHookRequest']
type HookChange = Schemas['ChangeIncomingHookRequest']
export type Variable = Schemas['HookVariable']
type Settings = NonNullable<IncomingHookBody['settings']>

export type VariableRow = {
  name: string
  path: string
  type: Variable['type']
  required: boolean
  /** Empty: none. Text as it is, or in quotes; anything else as JSON. */
  default: string
}

export type HookValues = PollValues & {
  name: string
  variables: VariableRow[]
  conditions: ConditionRow[]
  /** Globs of files; a leading `!` excludes. */
  paths: string[]
  requires_secret: boolean
  /** A new one; empty: it stays as it is. */
  secret: string
  secret_header_name: string
  secret_algorithm: string
  scheme: string
  template: string
  timestamp_header: string
  id_header: string
  per_second: number | string
  burst: number | string
  /** Settings that the form does not show. */
  other_settings: Record<string, unknown>
}

export const HOOK_LABELS = {
  requires_secret: 'Calls must be signed',
  secret_header_name: 'Signature header',
  secret_algorithm: 'Hash function',
  scheme: 'Signature',
  template: 'Signed text',
  per_second: 'Calls per second',
  ...POLL_LABELS,
}

/** Settings have all their defaults in every response. */
export function readHook(hook: Hook): HookValues {
  const { variables = [], signature, rate_limit, poll, ...other_settings } = hook.settings as Settings
  const { conditions = [], paths = [] } = hook.trigger_when as { conditions?: Condition[]; paths?: string[] }
  return {
    name: hook.name,
    variables: variables.map(variableRow),
    conditions: conditions.map(rowOf),
    paths,
    requires_secret: hook.requires_secret ?? false,
    secret: '',
    secret_header_name: hook.secret_header_name ?? '',
    secret_algorithm: hook.secret_algorithm ?? 'sha256',
    scheme: signature?.scheme ?? 'body',
    template: signature?.template ?? '',
    timestamp_header: signature?.timestamp_header ?? '',
    id_header: signature?.id_header ?? '',
    per_second: rate_limit?.per_second ?? 1000,
    burst: rate_limit?.burst ?? 2000,
    ...readPoll(poll),
    other_settings,
  }
}

function variableRow({ name, path, type, required, default_value }: Variable): VariableRow {
  return { name, path: path ?? '', type, required, default: defaultText(default_value) }
}

/** What decides about a call: a dry run takes it before it is saved. */
export function receptionOf(values: HookValues) {
  const poll = pollOf(values)
  const settings = {
    ...values.other_settings,
    variables: values.variables.map(variableOf),
    signature: {
      scheme: values.scheme,
      template: values.template || null,
      timestamp_header: values.timestamp_header || null,
      id_header: values.id_header || null,
    },
    rate_limit: { per_second: values.per_second, burst: values.burst },
    ...(poll && { poll }),
  } as Settings
  const { paths } = values
  const trigger_when = {
    conditions: values.conditions.map(conditionOf),
    ...(paths.length > 0 && { paths }),
  }
  return { settings, trigger_when }
}

/** The API checks everything: what a person entered is sent as it is. */
export function changeOf(values: HookValues): HookChange {
  const { name, requires_secret, secret, secret_algorithm, secret_header_name } = values
  return {
    name,
    requires_secret,
    ...(requires_secret && {
      secret_algorithm: secret_algorithm as HookChange['secret_algorithm'],
      ...(secret_header_name !== '' && { secret_header_name }),
      ...(secret !== '' && { secret }),
    }),
    ...receptionOf(values),
  }
}

function variableOf({ name, path, type, required, default: text }: VariableRow): Variable {
  return { name, path: path || null, type, required, default_value: defaultValue(text, type) }
}

function defaultText(value: unknown): string {
  if (value === null || value === undefined) return ''
  const isPlain = typeof value === 'string' && value !== '' && !/^".*"$/s.test(value)
  return isPlain ? value : JSON.stringify(value)
}

function defaultValue(text: string, type: Variable['type']): unknown {
  if (text === '') return null
  const value = parsed(text)
  if (type === 'string') return typeof value === 'string' ? value : text
  return value ?? text
}

/** `trigger_when.paths.1` → `paths.1` */
function pathInput(field: string): string | undefined {
  return /^trigger_when\.(paths(?:\.\d+)?)$/.exec(field)?.[1]
}

/** The input that shows the API's error for a field. */
export function inputOf(field: string): string | undefined {
  const variable = /^settings\.variables\.(\d+)\.(\w+)/.exec(field)
  if (variable) return `variables.${variable[1]}.${variable[2]!.replace('_value', '')}`
  return (
    pathInput(field) ??
    conditionInput(field) ??
    pollInput(field) ??
    /^settings\.(?:signature|rate_limit)\.(\w+)$/.exec(field)?.[1]
  )
}
