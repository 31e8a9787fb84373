import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode } from '#platform/database/tables.ts'
import { reasonName } from '#platform/vocabulary.ts'
import { newestRuns } from './newest-runs.ts'
import type { NeedsAttention } from './schemas.ts'

const MAX_ITEMS = 20
const FAILED_WITHIN = sql`interval '30 days'`

/** The environments of which a caller may see each kind. */
export type AttentionScopes = {
  withActions: readonly number[]
  withHooks: readonly number[]
  withLive: readonly number[]
  withServers: readonly number[]
}

type Row = NeedsAttention & { count: number; reason: ReasonCode | null }

/** What to look at, latest first. */
export async function findAttention(db: Database, scopes: AttentionScopes) {
  const { rows } = await sql<Row>`
    select *, count(*) over () as count from (
      ${failedRuns(scopes.withActions)} union all ${failingHooks(scopes.withHooks)}
      union all ${lostConnections(scopes.withHooks)}
      union all ${unknownServers(scopes.withLive)} union all ${waitingForWorkers(scopes.withServers)}
    ) as items
    order by since desc, kind, action_id, hook ->> 'id', application ->> 'id', server ->> 'id'
    limit ${MAX_ITEMS}::bigint`.execute(db)
  return {
    count: rows[0]?.count ?? 0,
    items: rows.map(({ count: _, reason, ...item }) => ({
      ...item,
      detail: reason === null ? item.detail : `${reasonName(reason)}.`,
    })),
  }
}

/** A pipeline whose newest finished run failed within 30 days; that a person canceled it does not count. */
function failedRuns(environmentIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select 'run_failed' as kind, a.completed_at as since, '' as detail, a.status_reason_code as reason,
      ${named('app')} as application, ${named('s')} as server, ${named('p')} as pipeline, a.id as action_id,
      null::json as hook, p.environment_id
    from ${newestRuns(environmentIds, sql`true`)} as run join actions a on a.id = run.failed
    join pipelines p on p.id = a.pipeline_id
    left join applications app on app.id = p.application_id left join servers s on s.id = p.server_id
    where ${isRecentFailure}`
}

/** Of the action `a`. */
export const isRecentFailure = sql`a.completed_at >= now() - ${FAILED_WITHIN} and a.status_reason_code <> 'FAILED_CANCELLED'`

/** Of the hook `h` and its row `health` in hook_health. */
export const isFailingHook = sql`h.type = 'outgoing' and h.deleted_at is null and (h.disabled_at is not null
  or (h.active and (health.failing_since is not null or health.failures_in_a_row > 0)))`

function failingHooks(environmentIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select 'hook_failing', coalesce(health.failing_since, h.disabled_at, h.updated_at),
      coalesce(h.disabled_reason, 'Deliveries fail.'), null, ${named('app')}, ${named('s')}, ${named('p')}, null::bigint,
      json_build_object('id', h.id, 'name', h.name), h.environment_id
    from hooks h left join hook_health health on health.hook_id = h.id
    join pipelines p on p.id = h.pipeline_id
    left join applications app on app.id = p.application_id left join servers s on s.id = p.server_id
    where h.environment_id = any(${environmentIds}::bigint[]) and ${isFailingHook}`
}

/** Of incoming hooks that are on. One that is being connected is no problem yet. */
function lostConnections(environmentIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select 'connection_lost', c.state_since, coalesce(c.problem, 'The webhook is not as it must be.'), null,
      ${named('app')}, ${named('s')}, ${named('p')}, null::bigint, json_build_object('id', h.id, 'name', h.name),
      h.environment_id
    from hook_connections c join hooks h on h.id = c.hook_id join pipelines p on p.id = h.pipeline_id
    left join applications app on app.id = p.application_id left join servers s on s.id = p.server_id
    where h.environment_id = any(${environmentIds}::bigint[]) and h.active and h.deleted_at is null
      and (c.state not in ('connected', 'connecting')
        or c.state = 'connecting' and c.state_since < now() - interval '10 minutes')`
}

function unknownServers(environmentIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select 'live_unknown', unknown.since, unknown.reason, null, ${named('app')}, ${named('s')}, null::json, null::bigint,
      null::json, s.environment_id
    from unknown_live_releases unknown
    join application_servers link using (application_id, server_id)
    join applications app on app.id = unknown.application_id
    join servers s on s.id = unknown.server_id
    where s.environment_id = any(${environmentIds}::bigint[])`
}

function waitingForWorkers(environmentIds: readonly number[]): RawBuilder<unknown> {
  return sql`
    select 'worker_offline', min(t.updated_at), 'Runs wait for a worker that can reach this server: ' || count(*) || '.',
      null, null::json, json_build_object('id', s.id, 'name', s.name), null::json, min(t.action_id), null::json,
      s.environment_id
    from targets t join servers s on s.id = t.server_id
    where t.status_reason_code = 'WAITING_WORKER' and s.environment_id = any(${environmentIds}::bigint[])
    group by s.id`
}

const named = (table: string) => {
  const id = sql.ref(`${table}.id`)
  return sql`case when ${id} is not null then json_build_object('id', ${id}, 'name', ${sql.ref(`${table}.name`)}) end`
}
