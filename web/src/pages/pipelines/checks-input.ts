// The checks that deploys of a pipeline wait for, as its form shows them, and back. Pure.
import type { Pipeline } from '#web/base/api/types.ts'

type Checks = NonNullable<Pipeline['wait_for_checks']>

export type ChecksValues = {
  waits_for_checks: boolean
  /** Globs; empty: all. */
  check_names: string[]
  check_ignore: string[]
  check_timeout: number | string
  check_settle: number | string
  without_checks: Checks['without_checks']
}

export const WITHOUT_CHECKS = {
  fail: 'Fail when the time is over',
  proceed: 'Continue without them',
} as const

export const CHECKS_LABELS = {
  waits_for_checks: 'Wait for checks',
  check_names: 'Checks to wait for',
  check_ignore: 'Checks to ignore',
  check_timeout: 'Time limit in minutes',
  check_settle: 'Settle seconds',
  without_checks: 'A commit without checks',
}

const DEFAULTS: Checks = {
  names: null,
  ignore: [],
  timeout_minutes: 60,
  settle_seconds: 30,
  without_checks: 'fail',
}

export function checksValues(checks: Checks | null): ChecksValues {
  const { names, ignore, timeout_minutes, settle_seconds, without_checks } = checks ?? DEFAULTS
  return {
    waits_for_checks: checks !== null,
    check_names: names ?? [],
    check_ignore: ignore,
    check_timeout: timeout_minutes,
    check_settle: settle_seconds,
    without_checks,
  }
}

export function checksBody(values: ChecksValues): Checks | null {
  if (!values.waits_for_checks) return null
  return {
    names: values.check_names.length === 0 ? null : values.check_names,
    ignore: values.check_ignore,
    timeout_minutes: Number(values.check_timeout),
    settle_seconds: Number(values.check_settle),
    without_checks: values.without_checks,
  }
}

const INPUTS: Record<string, keyof ChecksValues> = {
  names: 'check_names',
  ignore: 'check_ignore',
  timeout_minutes: 'check_timeout',
  settle_seconds: 'check_settle',
  without_checks: 'without_checks',
}

/** `wait_for_checks.names.2` → `check_names`. */
export function checksField(field: string): keyof ChecksValues | undefined {
  const [first, name = ''] = field.split('.')
  if (first !== 'wait_for_checks') return undefined
  return INPUTS[name] ?? 'waits_for_checks'
}

/** `build, test / *; at most 60 minutes`. */
export function checksText(checks: Checks | null): string {
  if (checks === null) return 'Not waited for'
  const names = checks.names?.join(', ') ?? 'All'
  const ignored = checks.ignore.length > 0 ? ` except ${checks.ignore.join(', ')}` : ''
  return `${names}${ignored}; at most ${checks.timeout_minutes} minutes`
}
