// What the inputs of a health check hold, what they send, and how a check reads in one line. Pure.
import type { components } from '#client/index.ts'

export type HealthCheck = components['schemas']['HealthCheck']

/** Flat, like the inputs. */
export type HealthValues = {
  /** Empty: no check of its own. */
  health_type: HealthCheck['type'] | ''
  health_url: string
  health_port: number | string
  health_command: string
  health_status: string
  health_body: string
  health_interval: number | string
  health_timeout: number | string
  health_within: number | string
  health_for: number | string
}

export const NO_HEALTH_CHECK: HealthValues = {
  health_type: '',
  health_url: '',
  health_port: '',
  health_command: '',
  health_status: '200-299',
  health_body: '',
  health_interval: 2,
  health_timeout: 5,
  health_within: 60,
  health_for: 0,
}

export const HEALTH_TYPES = {
  http: 'HTTP request',
  tcp: 'TCP connection',
  command: 'Command',
} as const

export const HEALTH_LABELS = {
  health_type: 'Health check',
  health_url: 'URL',
  health_port: 'Port',
  health_command: 'Check command',
  health_status: 'Expected status',
  health_body: 'Expected text',
  health_interval: 'Interval',
  health_timeout: 'Timeout of a try',
  health_within: 'Healthy within',
  health_for: 'Healthy for',
}

export function healthValues(check: HealthCheck | null): HealthValues {
  if (check === null) return NO_HEALTH_CHECK
  return {
    health_type: check.type,
    health_url: check.url ?? '',
    health_port: check.port ?? '',
    health_command: check.command ?? '',
    health_status: String(check.expect_status ?? NO_HEALTH_CHECK.health_status),
    health_body: check.expect_body ?? '',
    health_interval: check.interval_seconds,
    health_timeout: check.timeout_seconds,
    health_within: check.within_seconds,
    health_for: check.healthy_for_seconds,
  }
}

/** An empty number is left out: the API knows the default, or says that it is required. */
export function healthBody(values: HealthValues) {
  const { health_type: type, health_status: status } = values
  if (type === '') return null
  const number = (value: number | string) => (value === '' ? undefined : Number(value))
  const timing = {
    interval_seconds: number(values.health_interval),
    timeout_seconds: number(values.health_timeout),
    within_seconds: number(values.health_within),
    healthy_for_seconds: number(values.health_for),
  }
  if (type === 'tcp') return { type, port: number(values.health_port), ...timing }
  if (type === 'command') return { type, command: values.health_command, ...timing }
  return {
    type,
    url: values.health_url.trim(),
    expect_status: parseStatus(status.trim()),
    expect_body: values.health_body === '' ? null : values.health_body,
    ...timing,
  }
}

/** `204` is a number; anything else goes to the API, which says what is wrong. */
function parseStatus(text: string): number | string | undefined {
  if (text === '') return undefined
  return /^\d+$/.test(text) ? Number(text) : text.replaceAll(/\s+/g, '')
}

const INPUTS: Record<string, keyof HealthValues> = {
  type: 'health_type',
  url: 'health_url',
  port: 'health_port',
  command: 'health_command',
  expect_status: 'health_status',
  expect_body: 'health_body',
  interval_seconds: 'health_interval',
  timeout_seconds: 'health_timeout',
  within_seconds: 'health_within',
  healthy_for_seconds: 'health_for',
}

/** The input that shows the API's error for a field. */
export function healthField(field: string): keyof HealthValues | undefined {
  if (field === 'health_check') return 'health_type'
  return field.startsWith('health_check.') ? INPUTS[field.slice('health_check.'.length)] : undefined
}

/** `http://127.0.0.1:3000/health within 60 s`. */
export function healthText(check: HealthCheck): string {
  const { type, url, port, command } = check
  const what = type === 'http' ? url : type === 'tcp' ? `Port ${port}` : firstLine(command ?? '')
  const held = check.healthy_for_seconds === 0 ? '' : `, for ${check.healthy_for_seconds} s`
  return `${what} within ${check.within_seconds} s${held}`
}

/** The same of what was entered, which may be incomplete. */
export function healthSummary({ health_type: type, ...values }: HealthValues): string {
  if (type === '') return 'No check'
  if (type === 'tcp') return `Port ${values.health_port}`
  return type === 'http' ? values.health_url : firstLine(values.health_command)
}

function firstLine(text: string): string {
  const [first = '', ...rest] = text.trim().split('\n')
  return rest.length > 0 ? `${first} …` : first
}
