import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#http/pagination.ts'
import { STATUSES } from '../vocabulary.ts'
import { type Bounds, findBounds, jumpToOffset } from './action-blocks.ts'
import type { ActionFilters } from './filters.ts'
import type { ActionRow } from './present.ts'

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
): Promise<{ rows: ActionRow[]; extent: Extent }> {
  if (environmentIds.length === 0) return { rows: [], extent: { total: 0, hasMore: false } }
  const bounds = await findBounds(db, environmentIds, filters)
  const lanes = lanesFor(environmentIds, filters, bounds)
  const start = await startOf(db, environmentIds, filters, page.offset)
  const [rows, total] = await Promise.all([
    selectRows(db, lanes, start, page.limit + 1),
    countRows(db, lanes),
  ])
  const hasMore = rows.length > page.limit
  return { rows: rows.slice(0, page.limit), extent: { total, hasMore } }
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
  const start = { upTo: Number.MAX_SAFE_INTEGER, offset }
  if (offset < JUMP_FROM || !isWholeEnvironments(filters)) return start
  return (await jumpToOffset(db, environmentIds, offset)) ?? start
}

/** True when the filters choose environments and nothing else: blocks are counted per environment. */
function isWholeEnvironments(filters: ActionFilters): boolean {
  const { organization_id, project_id, environment_id, ...others } = filters
  return Object.values(others).every((value) => value === undefined)
}

/** One lane per row of `from`; `where` holds for the actions of a lane, and one index serves both in order. */
type Lanes = { from: RawBuilder<unknown>; where: RawBuilder<unknown> }

function lanesFor(environmentIds: readonly number[], filters: ActionFilters, bounds: Bounds): Lanes {
  const places = sql`${environmentIds}::bigint[]`
  const rest: RawBuilder<unknown>[] = [sql`a.id between ${bounds.from} and ${bounds.upTo}`]
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
    return {
      from: sql`unnest(${hook_id}::uuid[]) as lane (hook_id)`,
      where: all(sql`a.hook_id = lane.hook_id and a.environment_id = any(${places})`, ...rest),
    }
  }
  if (pipeline_id || resource_type || resource_id || type || status) {
    if (ofTrigger) rest.push(ofTrigger)
    const statuses = status ?? Object.keys(STATUSES)
    return {
      from: sql`(select p.id as pipeline_id, s.status from pipelines p, unnest(${statuses}::text[]) as s (status)
        where p.environment_id = any(${places}) and ${ofPipeline(filters)}) as lane`,
      where: all(sql`a.pipeline_id = lane.pipeline_id and a.status = lane.status`, ...rest),
    }
  }
  if (filters.trigger_type && !filters.trigger_type.includes('hook')) {
    return {
      from: sql`unnest(${places}) as e (environment_id), unnest(${filters.trigger_type}::text[]) as t (trigger_type)`,
      where: all(
        sql`a.environment_id = e.environment_id and a.trigger_type = t.trigger_type and a.trigger_type <> 'hook'`,
        ...rest,
      ),
    }
  }
  if (ofTrigger) rest.push(ofTrigger)
  return {
    from: sql`unnest(${places}) as lane (environment_id)`,
    where: all(sql`a.environment_id = lane.environment_id`, ...rest),
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
  { from, where }: Lanes,
  { upTo, offset }: Start,
  limit: number,
): Promise<ActionRow[]> {
  const { rows } = await sql<ActionRow>`
    with page as (
      select heads.id from ${from}, lateral (
        select a.id from actions a where ${where} and a.id <= ${upTo}
        order by a.id desc limit ${offset + limit}::bigint
      ) as heads
      order by heads.id desc offset ${offset}::bigint limit ${limit}::bigint
    )
    select actions.* from page join actions using (id) order by id desc`.execute(db)
  return rows
}

/** Counts to one past the limit and no further. */
async function countRows(db: Database, { from, where }: Lanes): Promise<number> {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (
      select from ${from}, lateral (select from actions a where ${where} limit ${COUNT_LIMIT + 1}::bigint) as heads
      limit ${COUNT_LIMIT + 1}::bigint
    ) as counted`.execute(db)
  return rows[0]!.total
}

function all(...conditions: RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(conditions, sql` and `)
}
