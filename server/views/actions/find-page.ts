import { type RawBuilder, sql } from 'kysely'
import type { ActionFilters } from '#model/actions/filters.ts'
import { ANY_ID, newestInPartition, type PartitionKey } from '#model/actions/partition.ts'
import type { ActionRow } from '#model/actions/present.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#platform/http/pagination.ts'
import { STATUSES } from '#platform/vocabulary.ts'
import { type Bounds, findBounds, jumpToOffset } from './action-blocks.ts'

/**
 * A page of actions, newest first. The actions wanted are cut into lanes, each of which one index serves
 * in order (an environment, a pipeline and a status, a hook …); a page is the merge of the heads of the
 * lanes, so it costs the same whether a thousand or a million actions are stored.
 */
export async function findPage(
  db: Database,
  environmentIds: readonly number[],
  filters: ActionFilters,
  page: Page,
  largeLists: LargeLists = new Set(),
): Promise<{ rows: ActionRow[]; extent: Extent }> {
  if (environmentIds.length === 0) return { rows: [], extent: { total: 0, hasMore: false } }
  const bounds = await findBounds(db, environmentIds, filters)
  const lanes = lanesFor(environmentIds, filters, bounds)
  const start = await startOf(db, environmentIds, filters, page.offset)
  const [rows, total] = await Promise.all([
    selectRows(db, lanes, start, page.limit + 1),
    countUnlessLarge(largeLists, environmentIds, filters, () => countRows(db, lanes)),
  ])
  const hasMore = rows.length > page.limit
  return { rows: rows.slice(0, page.limit), extent: { total, hasMore } }
}

/**
 * Lists that are known to be longer than totals are counted. Actions are never deleted, so such a list stays
 * so; unless it is one of actions in some status, which they leave again.
 */
export type LargeLists = Set<string>

const MOST_LARGE_LISTS = 1_000

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
  if (total > COUNT_LIMIT && known.size < MOST_LARGE_LISTS) known.add(list)
  return total
}

/** Which rows to skip: `offset` of those with an id of `upTo` or less. */
type Start = { upTo: number; offset: number }

/** Below this, walking the index is cheaper than looking for a place to jump to. */
const JUMP_FROM = 2_000

async function startOf(
  db: Database,
  environmentIds: readonly number[],
  filters: ActionFilters,
  offset: number,
): Promise<Start> {
  const start = { upTo: ANY_ID.upTo, offset }
  if (offset < JUMP_FROM || !isWholeEnvironments(filters)) return start
  const upTo = await jumpToOffset(db, environmentIds, offset)
  return upTo === undefined ? start : { upTo, offset: 0 }
}

/** True when the filters choose environments and nothing else: blocks are counted per environment. */
function isWholeEnvironments(filters: ActionFilters): boolean {
  const { organization_id, project_id, environment_id, ...others } = filters
  return Object.values(others).every((value) => value === undefined)
}

/** One lane per row of `from`, which is called `lane`; `where` holds besides (see lane.ts). */
type Lanes = { from: RawBuilder<unknown>; key: PartitionKey; ids: Bounds; where: RawBuilder<unknown>[] }

function lanesFor(environmentIds: readonly number[], filters: ActionFilters, ids: Bounds): Lanes {
  const places = sql`${environmentIds}::bigint[]`
  const rest: RawBuilder<unknown>[] = []
  if (filters.created_after) rest.push(sql`a.created_at >= ${filters.created_after}`)
  if (filters.created_before) rest.push(sql`a.created_at < ${filters.created_before}`)
  const ofTrigger = filters.trigger_type && sql`a.trigger_type = any(${filters.trigger_type})`
  const { pipeline_id, resource_type, resource_id, type, status, hook_id } = filters

  if (hook_id) {
    if (pipeline_id) rest.push(sql`a.pipeline_id = any(${pipeline_id}::bigint[])`)
    if (resource_type || resource_id || type)
      rest.push(sql`a.pipeline_id in (select p.id from pipelines p where ${ofPipeline(filters)})`)
    if (status) rest.push(sql`a.status = any(${status})`)
    if (ofTrigger) rest.push(ofTrigger)
    rest.push(sql`a.hook_id is not null and a.environment_id = any(${places})`)
    return { from: sql`unnest(${hook_id}::uuid[]) as lane (hook_id)`, key: ['hook_id'], ids, where: rest }
  }
  if (pipeline_id || resource_type || resource_id || type || status) {
    if (ofTrigger) rest.push(ofTrigger)
    const statuses = status ?? Object.keys(STATUSES)
    return {
      from: sql`(select p.id as pipeline_id, s.status from pipelines p, unnest(${statuses}::text[]) as s (status)
        where p.environment_id = any(${places}) and ${ofPipeline(filters)}) as lane`,
      key: ['pipeline_id', 'status'],
      ids,
      where: rest,
    }
  }
  if (filters.trigger_type && !filters.trigger_type.includes('hook')) {
    rest.push(sql`a.trigger_type <> 'hook'`)
    return {
      from: sql`(select * from unnest(${places}) as e (environment_id),
        unnest(${filters.trigger_type}::text[]) as t (trigger_type)) as lane`,
      key: ['environment_id', 'trigger_type'],
      ids,
      where: rest,
    }
  }
  if (ofTrigger) rest.push(ofTrigger)
  return {
    from: sql`unnest(${places}) as lane (environment_id)`,
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
  return all(...conditions)
}

async function selectRows(
  db: Database,
  { from, key, ids, where }: Lanes,
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

/** Counts to one past the limit and no further. */
async function countRows(db: Database, { from, key, ids, where }: Lanes): Promise<number> {
  const limit = COUNT_LIMIT + 1
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (
      select from ${from}, lateral ${newestInPartition(key, { ids, where, limit })} as heads
      limit ${limit}::bigint
    ) as counted`.execute(db)
  return rows[0]!.total
}

function all(...conditions: RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(conditions, sql` and `)
}
