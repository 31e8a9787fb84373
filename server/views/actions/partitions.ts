import { type RawBuilder, sql } from 'kysely'
import type { Bounds } from '#engine/counts/action-blocks.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import { newestInPartition, type PartitionKey } from '#model/actions/partition.ts'
import { UNFINISHED } from '#model/actions/status.ts'
import { STATUSES, TRIGGER_TYPES } from '#platform/vocabulary.ts'

/**
 * One partition per row of `from`, which is called `partition`; `where` applies as well (see partition.ts), and so does
 * `created`, the requested time, which no index knows.
 */
export type Partitions = {
  from: RawBuilder<unknown>
  key: PartitionKey
  where: RawBuilder<unknown>[]
  created: RawBuilder<unknown>[]
}

/**
 * The requested actions, split into partitions that one index serves in order; the parts of the list have no action in
 * common. Each filter, and each combination of two, is part of a key, because a condition that no index knows costs a
 * look at every action of the partition. The indexes by trigger and by user hold only the runs that no hook started.
 */
export function partitionsFor(environmentIds: readonly number[], filters: ActionFilters): Partitions[] {
  const environments = sql`${environmentIds}::bigint[]`
  const { hook_id, user_id, trigger_type, status, gate, branch, ids } = filters
  const statuses = sql`unnest(${status ?? Object.keys(STATUSES)}::text[]) as s (status)`
  const pipelines = sql`(select p.id as pipeline_id from pipelines p
    where p.environment_id = any(${environments}) and ${ofPipeline(filters)}) as p`
  const created: RawBuilder<unknown>[] = []
  if (filters.created_after) created.push(sql`a.created_at >= ${filters.created_after}`)
  if (filters.created_before) created.push(sql`a.created_at < ${filters.created_before}`)
  // Of other runs, only retries have a hook: that of the run that they retry.
  const possible = hook_id ? ['hook', 'retry'] : [...TRIGGER_TYPES]
  const triggers = possible.filter((one) => trigger_type?.includes(one) ?? true)
  const others = triggers.filter((one) => one !== 'hook')
  const ofHook = hook_id ? [sql`a.hook_id = any(${hook_id}::uuid[])`] : []

  const by = (key: PartitionKey, from: RawBuilder<unknown>, where: RawBuilder<unknown>[] = []) => ({
    from: sql`${from} as partition`,
    key,
    where,
    created,
  })
  /** By hook, which has one pipeline. */
  const byHook = (where: RawBuilder<unknown>[]) => {
    const from = sql`(select h.id as hook_id, s.status
      from ${pipelines} join hooks h on h.pipeline_id = p.pipeline_id, ${statuses}
      where h.type = 'incoming' and ${hook_id ? sql`h.id = any(${hook_id}::uuid[])` : sql`true`})`
    return by(['hook_id', 'status'], from, [sql`a.hook_id is not null`, ...where])
  }

  if (ids) {
    const where = [sql`a.id = any(${ids}::bigint[])`, ...ofHook]
    if (user_id) where.push(sql`a.triggered_by = any(${user_id}::bigint[])`)
    if (trigger_type) where.push(sql`a.trigger_type = any(${trigger_type}::text[])`)
    if (status) where.push(sql`a.status = any(${status}::text[])`)
    if (gate) where.push(sql`a.gate = any(${gate}::text[])`)
    if (branch !== undefined) where.push(sql`a.branch = ${branch}`)
    const from = sql`(select * from ${pipelines}, unnest(${[...UNFINISHED]}::text[]) as s (status))`
    return [by(['pipeline_id', 'status'], from, where)]
  }
  // Few runs wait at a gate, or are of one branch, compared with all: what else is asked for is looked up in them.
  if (gate || branch !== undefined) {
    const where = [...ofHook]
    if (user_id) where.push(sql`a.triggered_by = any(${user_id}::bigint[])`)
    if (trigger_type) where.push(sql`a.trigger_type = any(${trigger_type}::text[])`)
    if (status) where.push(sql`a.status = any(${status}::text[])`)
    const ofBranch = branch === undefined ? [] : [sql`a.branch = ${branch}`]
    if (gate) {
      const from = sql`(select * from ${pipelines}, unnest(${gate}::text[]) as g (gate))`
      return [by(['gate', 'pipeline_id'], from, [sql`a.gate is not null`, ...ofBranch, ...where])]
    }
    const ended = sql`(select p.pipeline_id, ${branch}::text as branch from ${pipelines})`
    const unfinished = sql`(select * from ${pipelines}, unnest(${[...UNFINISHED]}::text[]) as s (status))`
    const hasEnded = [sql`a.branch is not null`, sql`a.completed_at is not null`]
    return [
      by(['pipeline_id', 'branch'], ended, [...hasEnded, ...where]),
      by(['pipeline_id', 'status'], unfinished, [...ofBranch, ...where]),
    ]
  }
  if (user_id) {
    const isUserOnly = !hook_id && !trigger_type && !status && !namesPipelines(filters)
    const users = sql`unnest(${user_id}::bigint[]) as u (triggered_by)`
    const isByUser = sql`a.triggered_by is not null`
    if (isUserOnly) {
      const from = sql`(select * from unnest(${environments}) as e (environment_id), ${users})`
      return [by(['environment_id', 'triggered_by'], from, [isByUser])]
    }
    const from = sql`(select * from ${pipelines}, ${users}, unnest(${triggers}::text[]) as t (trigger_type), ${statuses})`
    return [by(['pipeline_id', 'triggered_by', 'trigger_type', 'status'], from, [isByUser, ...ofHook])]
  }
  if (trigger_type) {
    const from = sql`(select * from ${pipelines}, unnest(${others}::text[]) as t (trigger_type), ${statuses})`
    const notByHook = [sql`a.trigger_type <> 'hook'`, ...ofHook]
    const byTrigger = by(['pipeline_id', 'trigger_type', 'status'], from, notByHook)
    return [
      // Also when nothing is possible: then it has no partition.
      ...(triggers.includes('hook') ? [byHook([sql`a.trigger_type = 'hook'`])] : []),
      ...(others.length > 0 || triggers.length === 0 ? [byTrigger] : []),
    ]
  }
  if (hook_id) return [byHook([])]
  if (namesPipelines(filters) || status)
    return [by(['pipeline_id', 'status'], sql`(select * from ${pipelines}, ${statuses})`)]
  return [
    by(['environment_id'], sql`(select environment_id from unnest(${environments}) as e (environment_id))`),
  ]
}

/** A part of the list: all of its actions are in this range of ids. */
type Part = { partitions: readonly Partitions[]; ids: Bounds }

/**
 * The list in parts, newest first. Where every action is of the requested time, the indexes alone are read: a look at the
 * time of each action costs several times as much.
 */
export function splitByTime(partitions: readonly Partitions[], { inside, ...ids }: Bounds): Part[] {
  if (!inside) return [{ partitions, ids }]
  const untimed = partitions.map((one) => ({ ...one, created: [] }))
  const parts = [
    { partitions, ids: { from: inside.upTo + 1, upTo: ids.upTo } },
    { partitions: untimed, ids: inside },
    { partitions, ids: { from: ids.from, upTo: inside.from - 1 } },
  ]
  return parts.filter(({ ids: { from, upTo } }) => from <= upTo)
}

/** The newest ids of each partition, one after the other. */
export function headsOf(parts: readonly Part[], limit: number): RawBuilder<{ id: number }> {
  const heads = parts.flatMap(({ partitions, ids }) => partitions.map((one) => headsIn(one, ids, limit)))
  return sql`(${sql.join(heads, sql` union all `)})`
}

function headsIn({ from, key, where, created }: Partitions, ids: Bounds, limit: number): RawBuilder<unknown> {
  const heads = newestInPartition(key, { ids, where: [...where, ...created], limit })
  return sql`select heads.id from ${from}, lateral ${heads} as heads`
}

function namesPipelines({ pipeline_id, resource_type, resource_id, type }: ActionFilters): boolean {
  return [pipeline_id, resource_type, resource_id, type].some((filter) => filter !== undefined)
}

function ofPipeline({
  pipeline_id,
  resource_type,
  resource_id,
  type,
  hook_id,
}: ActionFilters): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`]
  if (pipeline_id) conditions.push(sql`p.id = any(${pipeline_id}::bigint[])`)
  if (resource_type) conditions.push(sql`p.resource_type = any(${resource_type})`)
  if (resource_id)
    conditions.push(sql`coalesce(p.application_id, p.server_id) = any(${resource_id}::bigint[])`)
  if (type) conditions.push(sql`p.operation = any(${type})`)
  // A hook has one pipeline.
  if (hook_id)
    conditions.push(sql`p.id in (select h.pipeline_id from hooks h where h.id = any(${hook_id}::uuid[]))`)
  return sql.join(conditions, sql` and `)
}
