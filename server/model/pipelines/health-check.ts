// Health checks in the API, and what a schema cannot express about them. What a check does is in model/deploy.
import type { HealthCheck } from '#platform/database/tables.ts'
import * as t from '#platform/http/schemas.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'

const type = t.Word(
  ['http', 'tcp', 'command'] as const,
  'How the release is checked, always on the server: `http` asks `url`, `tcp` connects to `port` of the loopback, `command` runs `command`.',
)
const url = t.Text({
  minLength: 1,
  maxLength: 2_048,
  description:
    'Of the type `http`: an http or https URL without credentials, as the server reaches it, such as `http://127.0.0.1:3000/health`. Redirects are not followed.',
})
const port = t.Integer({
  minimum: 1,
  maximum: 65_535,
  description: 'Of the type `tcp`: the port, from 1 to 65535.',
})
const command = t.Text({
  minLength: 1,
  maxLength: 65_536,
  pattern: '\\S',
  'x-hint': 'must not be blank',
  description:
    'Of the type `command`: a bash script, at most 64 KiB, healthy when it exits with 0. It runs in the release directory with the environment of a step.',
})
const expect_status = t.Unsafe<number | string>({
  type: ['integer', 'string'],
  minimum: 100,
  maximum: 599,
  pattern: '^[1-5]\\d\\d(-[1-5]\\d\\d)?$',
  'x-hint': 'must be a status such as 204, or a range such as "200-299"',
  default: '200-299',
  description: 'Of the type `http`: the expected status, such as `204`, or a range such as `"200-299"`.',
})
const expect_body = t.TextOrNull({
  minLength: 1,
  maxLength: 1_000,
  description:
    'Of the type `http`: a text that the first 256 KiB of the answer must contain; null: any answer.',
})
const seconds = (minimum: number, maximum: number, standard: number, description: string) =>
  t.Integer({ minimum, maximum, default: standard, description })
const timing = {
  interval_seconds: seconds(1, 60, 2, 'Seconds from the start of one try to that of the next.'),
  timeout_seconds: seconds(1, 60, 5, 'After how many seconds a try has failed.'),
  within_seconds: seconds(1, 900, 60, 'In how many seconds it must become healthy.'),
  healthy_for_seconds: seconds(
    0,
    600,
    0,
    'For how many of these seconds every try must find it healthy; at most `within_seconds`. 0: once.',
  ),
}

const settings = t.optionalFields({ url, port, command, expect_status, expect_body })

export const healthCheckSchema = t.namedObject('HealthCheck', { type, ...settings, ...timing })

/** The answer holds the fields of its type, with their defaults. */
export const healthCheckOrNull = (description: string) =>
  ({ ...t.refOrNull(healthCheckSchema), description }) as unknown as ReturnType<
    typeof t.Unsafe<HealthCheck | null>
  >

const inputSchema = t.Exactly({ type, ...settings, ...t.optionalFields(timing) })
export type HealthCheckInput = t.Static<typeof inputSchema>

export const requiredHealthCheck = (description: string) => t.described(inputSchema, description)

export const healthCheckInput = (description: string) =>
  t.Optional(t.Unsafe<HealthCheckInput | null>({ ...inputSchema, type: ['object', 'null'], description }))

type Invalid = { kind: 'invalid'; errors: ErrorsByField }
type Normalized<Check extends HealthCheck | null = HealthCheck | null> =
  | { kind: 'valid'; check: Check }
  | Invalid

const FIELDS = {
  http: ['url', 'expect_status', 'expect_body'],
  tcp: ['port'],
  command: ['command'],
} as const

/** With its defaults, its keys in order; or every error, by field. A stored one is its own normal form. Pure. */
export function normalizeHealthCheck(input: HealthCheckInput): Normalized<HealthCheck>
export function normalizeHealthCheck(input: HealthCheckInput | null): Normalized
export function normalizeHealthCheck(input: HealthCheckInput | null): Normalized {
  if (input === null) return { kind: 'valid', check: null }
  const { interval_seconds = 2, timeout_seconds = 5, within_seconds = 60, healthy_for_seconds = 0 } = input
  const errors: ErrorsByField = {}
  const add = (field: string, message: string) => {
    errors[`health_check.${field}`] = [message]
  }
  for (const [kind, fields] of Object.entries(FIELDS))
    for (const field of fields)
      if (kind !== input.type && input[field] != null) add(field, `is only for checks of the type ${kind}`)
  const problem = checkUrl(input) ?? checkCommand(input)
  if (problem) add(...problem)
  const [required] = FIELDS[input.type]
  if (input[required] === undefined) add(required, `is required for the type ${input.type}`)
  const { expect_status = '200-299' } = input
  const [from, to = from] = String(expect_status).split('-')
  if (from! > to!) add('expect_status', 'must be a range from the lower status to the higher one')
  if (healthy_for_seconds > within_seconds)
    add('healthy_for_seconds', `must not be longer than within_seconds, which is ${within_seconds}`)
  if (Object.keys(errors).length > 0) return { kind: 'invalid', errors }
  const timing = { interval_seconds, timeout_seconds, within_seconds, healthy_for_seconds }
  return { kind: 'valid', check: { ...settingsOf(input, expect_status), ...timing } }
}

function settingsOf(input: HealthCheckInput, expect_status: number | string) {
  const { type } = input
  if (type === 'tcp') return { type, port: input.port! }
  if (type === 'command') return { type, command: input.command! }
  return { type, url: input.url!, expect_status, expect_body: input.expect_body ?? null }
}

function checkUrl({ type, url }: HealthCheckInput): [string, string] | undefined {
  if (type !== 'http' || url === undefined) return undefined
  if (!/^https?:\/\/[^\s\\\0-\x1f\x7f]+$/i.test(url) || !URL.canParse(url))
    return ['url', 'must be an http or https URL, such as http://127.0.0.1:3000/health']
  const { username, password, port } = new URL(url)
  if (username !== '' || password !== '') return ['url', 'must not contain a username or password']
  return port === '0' ? ['url', 'must have a port from 1 to 65535'] : undefined
}

const MAX_COMMAND_BYTES = 65_536

function checkCommand({ command = '' }: HealthCheckInput): [string, string] | undefined {
  if (Buffer.byteLength(command) > MAX_COMMAND_BYTES) return ['command', 'must not be longer than 64 KiB']
  return undefined
}

/** As answers and documents show it: the database does not keep the order of its keys. */
export function presentHealthCheck(stored: HealthCheck | null): HealthCheck | null {
  const normalized = normalizeHealthCheck(stored)
  return normalized.kind === 'valid' ? normalized.check : stored
}

/** The column of a change: undefined leaves it as it is. */
export function healthCheckColumn(
  input: HealthCheckInput | null | undefined,
): { kind: 'column'; value: string | null | undefined } | Invalid {
  if (input === undefined) return { kind: 'column', value: undefined }
  const normalized = normalizeHealthCheck(input)
  if (normalized.kind === 'invalid') return normalized
  return { kind: 'column', value: normalized.check && JSON.stringify(normalized.check) }
}

/** More than the tries can take, so that they decide. */
export function healthStepTimeout({ within_seconds, timeout_seconds }: HealthCheck): number {
  return within_seconds + timeout_seconds + 60
}
