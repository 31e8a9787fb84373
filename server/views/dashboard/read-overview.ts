import type { Caller } from '#access/authorization/caller.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { type EnvironmentScope, environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import type { QueueDepth } from '#platform/queue/queue-depths.ts'
import { findDeliveries } from './find-deliveries.ts'
import { findFailures, findRunning, presentRuns } from './find-runs.ts'
import { readRunDays } from './run-days.ts'
import type { Overview } from './schemas.ts'
import { countAlive } from './workers.ts'

export type ReadOverview = {
  db: Database
  tree: Tree
  baseUrl: () => string
  queueDepths: () => Promise<QueueDepth[]>
}

export type Places = Pick<ActionFilters, 'organization_id' | 'project_id' | 'environment_id'>

/** Runs of the environments whose actions the caller sees, deliveries of those whose hooks they see. */
export async function readOverview(
  { db, tree, baseUrl, queueDepths }: ReadOverview,
  caller: Caller,
  wanted: Places,
): Promise<Overview> {
  const sight = await visibilityOf(tree, caller)
  const withActions = idsWithin(sight.visible, wanted)
  const withHooks = idsWithin(environmentsWhere(caller, 'hook:view', sight.scopes), wanted)
  const [running, failures, days, deliveries, alive, depths] = await Promise.all([
    findRunning(db, withActions),
    findFailures(db, withActions),
    readRunDays(db, withActions),
    findDeliveries(db, withHooks),
    countAlive(db),
    queueDepths(),
  ])
  return {
    running: await presentRuns(sight, baseUrl(), running),
    failures: await presentRuns(sight, baseUrl(), failures),
    runs_per_day: days.map(({ median_duration_seconds: _, ...day }) => day),
    median_duration_seconds_per_day: days.map((day) => ({
      date: day.date,
      seconds: day.median_duration_seconds,
    })),
    deliveries,
    workers: { alive },
    queue: { depths },
  }
}

function idsWithin(places: readonly EnvironmentScope[], wanted: Places): number[] {
  return places
    .filter(
      (place) =>
        (wanted.organization_id?.includes(place.organization_id) ?? true) &&
        (wanted.project_id?.includes(place.project_id) ?? true) &&
        (wanted.environment_id?.includes(place.environment_id) ?? true),
    )
    .map((place) => place.environment_id)
}
