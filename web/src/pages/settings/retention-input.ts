// How long an environment keeps what, as its form holds and sends it. Pure.
import type { EnvironmentRecord } from '#web/base/api/types.ts'

export const LIMITS = ['runs_days', 'runs_per_pipeline', 'logs_days', 'requests_days'] as const
export type Limit = (typeof LIMITS)[number]

export type RetentionValues = Record<Limit, string> & { retention: 'default' | 'own' }
type Retention = NonNullable<EnvironmentRecord['retention']>

export const LIMIT_LABELS: Record<Limit, string> = {
  runs_days: 'Runs (days)',
  runs_per_pipeline: 'Runs per pipeline',
  logs_days: 'Logs (days)',
  requests_days: 'Hook requests (days)',
}

/** An empty input: forever. */
export function retentionValues(retention: EnvironmentRecord['retention'] | undefined): RetentionValues {
  const shown = Object.fromEntries(LIMITS.map((limit) => [limit, String(retention?.[limit] ?? '')]))
  return { ...(shown as Record<Limit, string>), retention: retention ? 'own' : 'default' }
}

export function retentionBody(values: RetentionValues): Retention | null {
  if (values.retention === 'default') return null
  const numberOf = (text: string) => {
    if (text.trim() === '') return null
    // The API says at the input what is wrong with any other text; as JSON, NaN and Infinity would mean forever.
    return Number.isFinite(Number(text)) ? Number(text) : text.trim()
  }
  return Object.fromEntries(LIMITS.map((limit) => [limit, numberOf(values[limit])])) as Retention
}

/** The input of a field that the API names: `retention.runs_days` is in `runs_days`. */
export function retentionField(field: string): string | undefined {
  return LIMITS.find((limit) => field === `retention.${limit}`)
}

/** `runs 90 days, logs 30 days`; `everything forever`. */
export function describeRetention(retention: Retention): string {
  const parts = [
    retention.runs_days !== null && `runs ${retention.runs_days} days`,
    retention.runs_per_pipeline !== null && `${retention.runs_per_pipeline} runs per pipeline`,
    retention.logs_days !== null && `logs ${retention.logs_days} days`,
    retention.requests_days !== null && `hook requests ${retention.requests_days} days`,
  ].filter((part) => part !== false)
  return parts.length === 0 ? 'everything forever' : parts.join(', ')
}
