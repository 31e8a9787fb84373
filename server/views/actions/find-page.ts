import { type RawBuilder, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import type { ActionFilters } from '#model/actions/filters.ts'
import { ANY_ID, newestInPartition, type PartitionKey } from '#model/actions/partition.ts'
import type { ActionRow } from '#model/actions/present.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#platform/http/pagination.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { type Bounds, findBounds, jumpToOffset } from './action-blocks.ts'

/**
 * A page of actions, newest first. The requested actions are split into partitions, each of which one index serves
 * in order (an environment, a pipeline and a status, a hook …); a page merges the heads of the partitions, so it
 * costs the same whether a thousand or a million actions are stored.
 */
export async function findPage(
  db: Database,
  environmentIds: readonly number[],
  filters: ActionFilters,
  page: Page,
  largeLists: LargeLists = createLargeLists(),
): Promise<{ rows: ActionRow[]; extent: Extent }> {
  if (environmentIds.length === 0) return { rows: [], extent: { total: 0, hasMore: false } }
  const bounds = await findBounds(db, environmentIds, filters)
  const partitions = partitionsFor(environmentIds, filters, bounds)
  const start = await startOf(db, environmentIds, filters, page.offset)
  const [rows, total] = await Promise.all([
    selectRows(db, partitions, start, page.limit + 1),
    countUnlessLarge(largeLists, environmentIds, filters, () => countRows(db, partitions)),
  ])
  const hasMore = rows.length > page.limit
  return { rows: rows.slice(0, page.limit), extent: { total, hasMore } }
}

/**
 * Lists that are known to exceed the limit of counting. Actions are never deleted, so such a list stays large;
 * unless it is filtered by status, which actions leave again.
 */
export type LargeLists = LRUCache<string, true>

export const createLargeLists = (): LargeLists => new LRUCache({ max: 1_000 })

async function countUnlessLarge(
  known: LargeLists,
  environmentIds: readonly number[],
  filters: ActionFilters,
  count: () => Promise<number>,
): Promise<number> {
  if (filters.status) return count()
  const list = JSON.stringify([environmentIds, filters])
  if (known.has(list)) return COUNT_LIMIT + 1
  const total = await count()
  if (total > COUNT_LIMIT) known.set(list, true)
  return total
}

/** Which rows to skip: `offset` of those with an id of `upTo` or less. */
type Start = { upTo: number; offset: number }

/** Below this, scanning the index is cheaper than finding where to jump to. */
const JUMP_FROM = 2_000

async function startOf(
  db: Database,
  environmentIds: readonly number[],
  filters: ActionFilters,
  offset: number,
): Promise<Start> {
  const start = { upTo: ANY_ID.upTo, offset }
  if (offset < JUMP_FROM || !selectsEnvironmentsOnly(filters)) return start
  const upTo = await jumpToOffset(db, environmentIds, offset)
  return upTo === undefined ? start : { upTo, offset: 0 }
}

/** Blocks are counted per environment, so they help only with filters of environments. */
function selectsEnvironmentsOnly(filters: ActionFilters): boolean {
  const { organization_id, project_id, environment_id, ...others } = filters
  return Object.values(others).every((value) => value === undefined)
}

/** One partition per row of `from`, which is called `partition`; `where` applies as well (see partition.ts). */
type Partitions = { from: RawBuilder<unknown>; key: PartitionKey; ids: Bounds; where: RawBuilder<unknown>[] }

function partitionsFor(environmentIds: readonly number[], filters: ActionFilters, ids: Bounds): Partitions {
  const environments = sql`${environmentIds}::bigint[]`
  const rest: RawBuilder<unknown>[] = []
  if (filters.created_after) rest.push(sql`a.created_at >= ${filters.created_after}`)
  if (filters.created_before) rest.push(sql`a.created_at < ${filters.created_before}`)
  const ofTrigger = filters.trigger_type && sql`a.trigger_type = any(${filters.trigger_type})`
  const { pipeline_id, resource_type, resource_id, type, status, hook_id, user_id } = filters

  if (hook_id || user_id) {
    if (pipeline_id) rest.push(sql`a.pipeline_id = any(${pipeline_id}::bigint[])`)
    if (resource_type || resource_id || type)
      rest.push(sql`a.pipeline_id in (select p.id from pipelines p where ${ofPipeline(filters)})`)
    if (status) rest.push(sql`a.status = any(${status})`)
    if (ofTrigger) rest.push(ofTrigger)
  }
  if (hook_id) {
    if (user_id) rest.push(sql`a.triggered_by = any(${user_id}::bigint[])`)
    rest.push(sql`a.hook_id is not null and a.environment_id = any(${environments})`)
    return {
      from: sql`unnest(${hook_id}::uuid[]) as partition (hook_id)`,
      key: ['hook_id'],
      ids,
      where: rest,
    }
  }
  if (user_id) {
    rest.push(sql`a.triggered_by is not null`)
    return {
      from: sql`(select * from unnest(${environments}) as e (environment_id),
        unnest(${user_id}::bigint[]) as u (triggered_by)) as partition`,
      key: ['environment_id', 'triggered_by'],
      ids,
      where: rest,
    }
  }
  if (pipeline_id || resource_type || resource_id || type || status) {
    if (ofTrigger) rest.push(ofTrigger)
    const statuses = status ?? Object.keys(STATUSES)
    return {
      from: sql`(select p.id as pipeline_id, s.status from pipelines p, unnest(${statuses}::text[]) as s (status)
        where p.environment_id = any(${environments}) and ${ofPipeline(filters)}) as partition`,
      key: ['pipeline_id', 'status'],
      ids,
      where: rest,
    }
  }
  if (filters.trigger_type && !filters.trigger_type.includes('hook')) {
    rest.push(sql`a.trigger_type <> 'hook'`)
    return {
      from: sql`(select * from unnest(${environments}) as e (environment_id),
        unnest(${filters.trigger_type}::text[]) as t (trigger_type)) as partition`,
      key: ['environment_id', 'trigger_type'],
      ids,
      where: rest,
    }
  }
  if (ofTrigger) rest.push(ofTrigger)
  return {
    from: sql`unnest(${environments}) as partition (environment_id)`,
    key: ['environment_id'],
    ids,
    where: rest,
  }
}

function ofPipeline({ pipeline_id, resource_type, resource_id, type }: ActionFilters): RawBuilder<unknown> {
  const conditions: RawBuilder<unknown>[] = [sql`true`]
  if (pipeline_id) conditions.push(sql`p.id = any(${pipeline_id}::bigint[])`)
  if (resource_type) conditions.push(sql`p.resource_type = any(${resource_type})`)
  if (resource_id)
    conditions.push(sql`coalesce(p.application_id, p.server_id) = any(${resource_id}::bigint[])`)
  if (type) conditions.push(sql`p.operation = any(${type})`)
  return sql.join(conditions, sql` and `)
}

async function selectRows(
  db: Database,
  { from, key, ids, where }: Partitions,
  start: Start,
  limit: number,
): Promise<ActionRow[]> {
  const heads = newestInPartition(key, {
    ids: { ...ids, upTo: Math.min(ids.upTo, start.upTo) },
    where,
    limit: start.offset + limit,
  })
  const { rows } = await sql<ActionRow>`
    select * from actions where id = any(array(
      select heads.id from ${from}, lateral ${heads} as heads
      order by heads.id desc offset ${start.offset}::bigint limit ${limit}::bigint
    )) order by id desc`.execute(db)
  return rows
}

/** Counts up to one past the limit. */
async function countRows(db: Database, { from, key, ids, where }: Partitions): Promise<number> {
  const limit = COUNT_LIMIT + 1
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (
      select from ${from}, lateral ${newestInPartition(key, { ids, where, limit })} as heads
      limit ${limit}::bigint
    ) as counted`.execute(db)
  return rows[0]!.total
}
