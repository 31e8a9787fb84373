import type { Database } from '#platform/database/connect.ts'
import type { OutageRetrier } from '#platform/database/outages.ts'
import type { Log } from '#platform/queue/core.ts'
import type { BudgetLimiter } from './budget-limiter.ts'
import type { Capacity } from './capacity.ts'

/** What every stage of a delivery needs. `signal` ends it; `persist` waits out outages of the database until then. */
export type StageDeps = {
  db: Database
  log: Log
  capacity: Capacity
  budgets: BudgetLimiter
  persist: OutageRetrier
  signal: AbortSignal
}

/** Waits out an outage. Any other error is logged, and the stage continues with `otherwise`. Throws only after an abort. */
export async function tolerate<Result>(
  { log, persist, signal }: StageDeps,
  doing: string,
  work: () => Promise<Result>,
  otherwise: Result,
): Promise<Result> {
  try {
    return await persist(doing, work, signal)
  } catch (error) {
    if (signal.aborted) throw error
    log.error({ err: error, doing }, 'delivery worker error')
    return otherwise
  }
}
