import type { Retention } from '#platform/database/tables.ts'

/** Pure: what is not limited is kept forever. */
export function wholeRetention(limits: Partial<Retention> | null): Retention | null {
  return (
    limits && { runs_days: null, runs_per_pipeline: null, logs_days: null, requests_days: null, ...limits }
  )
}
