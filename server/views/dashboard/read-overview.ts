import type { Caller } from '#access/authorization/caller.ts'
import { readRunDays } from '#engine/counts/run-days.ts'
import { type ActionFilters, environmentsMatching } from '#model/actions/filters.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { countOnline } from '#model/workers/live-workers.ts'
import type { Database } from '#platform/database/connect.ts'
import type { QueueDepth } from '#platform/queue/queue-depths.ts'
import { findAttention } from './find-attention.ts'
import { findDeliveries } from './find-deliveries.ts'
import { findFailures, findRunning, findWaiting, presentRuns } from './find-runs.ts'
import type { Overview } from './schemas.ts'

export type ReadOverview = {
  db: Database
  tree: Tree
  baseUrl: () => string
  queueDepths: () => Promise<QueueDepth[]>
}

/** Runs of the environments whose actions the caller may see, deliveries of those whose hooks they may see. */
export async function readOverview(
  { db, tree, baseUrl, queueDepths }: ReadOverview,
  caller: Caller,
  filters: ActionFilters,
): Promise<Overview> {
  const visibility = await visibilityOf(tree, caller)
  const withActions = environmentsMatching(filters, visibility.visible)
  const withHooks = environmentsMatching(filters, environmentsWhere(caller, 'hook:view', visibility.scopes))
  const withServers = environmentsWhere(caller, 'server:view', visibility.scopes)
  const withLive = environmentsMatching(filters, environmentsWhere(caller, 'application:view', withServers))
  const [running, waiting, failures, days, deliveries, attention, alive, depths] = await Promise.all([
    findRunning(db, withActions),
    findWaiting(db, withActions),
    findFailures(db, withActions),
    readRunDays(db, withActions),
    findDeliveries(db, withHooks),
    findAttention(db, withLive),
    countOnline(db),
    queueDepths(),
  ])
  const present = (found: typeof running) => presentRuns(visibility, baseUrl(), found.rows)
  return {
    counts: { running: running.count, waiting: waiting.count, failed_last_day: failures.count },
    running: await present(running),
    waiting: await present(waiting),
    failures: await present(failures),
    runs_per_day: days.map(({ median_duration_seconds: _, ...day }) => day),
    median_duration_seconds_per_day: days.map((day) => ({
      date: day.date,
      seconds: day.median_duration_seconds,
    })),
    deliveries,
    needs_attention: attention,
    workers: { alive },
    queue: { depths },
  }
}
