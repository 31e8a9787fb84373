import { type RawBuilder, sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { readRunDays } from '#engine/counts/run-days.ts'
import { type ActionFilters, environmentsMatching } from '#model/actions/filters.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { findApprovable } from '#model/gates/approvable.ts'
import { errorOf, healthOf } from '#model/hooks/health.ts'
import { loadHealth } from '#model/hooks/load-health.ts'
import { loadPauses } from '#model/hooks/rate-budgets.ts'
import { environmentsWhere } from '#model/inventory/environment-scopes.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { countOnline } from '#model/workers/live-workers.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT } from '#platform/http/pagination.ts'
import type { QueueDepth } from '#platform/queue/queue-depths.ts'
import { findAttention } from './find-attention.ts'
import { findRecentDeployments } from './find-deployments.ts'
import {
  canceledLastDay,
  findByIds,
  findFailures,
  findRunning,
  findWaiting,
  presentRuns,
} from './find-runs.ts'
import type { FailedNotification, FailingHook, Overview, OverviewDeliveries } from './schemas.ts'

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
  const approving = environmentsMatching(
    filters,
    environmentsWhere(caller, 'action:approve', visibility.visible),
  )
  const withDeployments = environmentsMatching(
    filters,
    environmentsWhere(caller, 'application:view', visibility.visible),
  )
  const seen = new Set(withServers.map((scope) => scope.environment_id))
  const scopes = {
    withActions,
    // Items name the pipeline and its resource.
    withHooks: withHooks.filter((id) => visibility.sees(id)),
    withLive,
    withServers: withActions.filter((id) => seen.has(id)),
  }
  const [
    running,
    waiting,
    failures,
    counted,
    days,
    deliveries,
    attention,
    recent,
    approvable,
    alive,
    depths,
  ] = await Promise.all([
    findRunning(db, withActions),
    findWaiting(db, withActions),
    findFailures(db, withActions),
    countAll(db, { withActions, withHooks }),
    readRunDays(db, withActions),
    findDeliveries(db, withHooks),
    findAttention(db, scopes),
    findRecentDeployments({ db, baseUrl }, withDeployments),
    findApprovable(db, caller, approving, MAX_APPROVABLE),
    countOnline(db),
    queueDepths(),
  ])
  const present = (found: typeof running) => presentRuns(visibility, baseUrl(), found.rows)
  return {
    counts: {
      running: running.count,
      waiting: waiting.count,
      failed_last_day: failures.count,
      canceled_last_day: counted.canceled,
    },
    running: await present(running),
    waiting: await present(waiting),
    failures: await present(failures),
    runs_per_day: days.map(({ median_duration_seconds: _, ...day }) => day),
    median_duration_seconds_per_day: days.map((day) => ({
      date: day.date,
      seconds: day.median_duration_seconds,
    })),
    deliveries: { ...deliveries, pending: counted.pending, failed_last_day: counted.failed },
    needs_attention: attention,
    recent_deployments: recent,
    waiting_for_you: {
      count: approvable.length,
      items: await present(await findByIds(db, approvable.slice(0, MAX_ITEMS))),
    },
    workers: { alive },
    queue: { depths },
  }
}

const MAX_ITEMS = 20
/** Of these, people need to know only that there are many. */
const MAX_APPROVABLE = 101

const MAX_FAILING = 50
const MAX_FAILED = 20
/** The id of the last attempt contains its time. */
const FAILED_LAST_DAY = sql`d.state = 'failed' and d.last_request_id >= (select uuidv7(interval '-1 day'))`

/** Of the hook `h`. */
const isOutgoing = (environmentIds: readonly number[]) =>
  sql`h.environment_id = any(${environmentIds}::bigint[]) and h.type = 'outgoing' and h.deleted_at is null`

/** The state of deliveries, for the hooks of these environments. */
async function findDeliveries(
  db: Database,
  environmentIds: readonly number[],
): Promise<Pick<OverviewDeliveries, 'failing' | 'failed'>> {
  const ofHooks = isOutgoing(environmentIds)
  const [failing, failed] = await Promise.all([findFailing(db, ofHooks), findFailed(db, ofHooks)])
  return { failing, failed }
}

async function findFailed(db: Database, ofHooks: RawBuilder<unknown>): Promise<FailedNotification[]> {
  const { rows } = await sql<FailedNotification & { error: string | null; status: number | null }>`
    select failed.hook_id, failed.hook_name, failed.action_id, failed.last_request_id, r.created_at as failed_at, r.error,
      r.response_status_code as status
    from (
      select latest.*, h.name as hook_name from hooks h cross join lateral (
        select d.hook_id, d.action_id, d.last_request_id from deliveries d
        where d.hook_id = h.id and ${FAILED_LAST_DAY} order by d.last_request_id desc limit ${MAX_FAILED}::bigint
      ) as latest
      where ${ofHooks} order by latest.last_request_id desc limit ${MAX_FAILED}::bigint
    ) as failed left join hook_requests r on r.id = failed.last_request_id
    order by failed.last_request_id desc`.execute(db)
  return rows.map(({ error, status, ...row }) => ({ ...row, last_error: errorOf({ error, status }) }))
}

/** Hooks whose receiver fails, and hooks that were disabled for it: longest first. */
async function findFailing(db: Database, ofHooks: RawBuilder<unknown>): Promise<FailingHook[]> {
  const { rows } = await sql<Omit<FailingHook, 'health'> & { active: boolean }>`
    select h.id as hook_id, h.name, h.pipeline_id, h.environment_id, s.failing_since, h.active,
      coalesce(s.failures_in_a_row, 0) as failures_in_a_row, s.open_until, h.disabled_at, h.disabled_reason
    from hooks h left join hook_health s on s.hook_id = h.id
    where ${ofHooks}
      and (h.disabled_at is not null or (h.active and (s.failing_since is not null or s.failures_in_a_row > 0)))
    order by coalesce(s.failing_since, h.disabled_at), h.id limit ${MAX_FAILING}::bigint`.execute(db)
  const ids = rows.map((row) => row.hook_id)
  const health = await loadHealth(db, ids)
  const pauses = await loadPauses(db, ids)
  return rows.map(({ active, ...row }) => ({
    ...row,
    health: healthOf({ ...row, active }, health.get(row.hook_id), pauses.get(row.hook_id)?.paused_until),
  }))
}

/** In one statement: how many runs were canceled within a day, how many deliveries wait, and how many failed within a day. */
async function countAll(
  db: Database,
  { withActions, withHooks }: { withActions: readonly number[]; withHooks: readonly number[] },
) {
  const count = (all: RawBuilder<unknown>) =>
    sql`(select count(*) from (select from ${all} limit ${COUNT_LIMIT}::bigint) as counted)`
  const deliveries = (condition: RawBuilder<unknown>) =>
    sql`hooks h join deliveries d on d.hook_id = h.id where ${isOutgoing(withHooks)} and ${condition}`
  const { rows } = await sql<{ canceled: number; pending: number; failed: number }>`
    select ${count(canceledLastDay(withActions, COUNT_LIMIT))} as canceled,
      ${count(deliveries(sql`d.state = 'pending'`))} as pending, ${count(deliveries(FAILED_LAST_DAY))} as failed`.execute(
    db,
  )
  return rows[0]!
}
