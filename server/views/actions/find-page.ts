import { type RawBuilder, sql } from 'kysely'
import { LRUCache } from 'lru-cache'
import { type Bounds, findBounds, jumpToOffset } from '#engine/counts/action-blocks.ts'
import type { ActionFilters } from '#model/actions/filters.ts'
import { ANY_ID } from '#model/actions/partition.ts'
import type { ActionRow } from '#model/actions/present.ts'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from '#platform/http/pagination.ts'
import { headsOf, type Partitions, partitionsFor, splitByTime } from './partitions.ts'

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
  const partitions = partitionsFor(environmentIds, filters)
  const start = await startOf(db, environmentIds, filters, page.offset)
  const [rows, total] = await Promise.all([
    selectRows(db, partitions, bounds, start, page.limit + 1),
    countUnlessLarge(largeLists, environmentIds, filters, () => countRows(db, partitions, bounds)),
  ])
  const hasMore = rows.length > page.limit
  return { rows: rows.slice(0, page.limit), extent: { total, hasMore } }
}

/**
 * Lists that are known to exceed the limit of counting. Such a list stays large for a while, as old actions are removed
 * slowly; unless it is filtered by status or gate, which actions leave again.
 */
export type LargeLists = LRUCache<string, true>

const STAYS_LARGE_MS = 60_000

export const createLargeLists = (): LargeLists => new LRUCache({ max: 1_000, ttl: STAYS_LARGE_MS })

async function countUnlessLarge(
  known: LargeLists,
  environmentIds: readonly number[],
  filters: ActionFilters,
  count: () => Promise<number>,
): Promise<number> {
  if (filters.status || filters.gate || filters.ids) return count()
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

async function selectRows(
  db: Database,
  partitions: readonly Partitions[],
  ids: Bounds,
  start: Start,
  limit: number,
): Promise<ActionRow[]> {
  const range = { ...ids, upTo: Math.min(ids.upTo, start.upTo) }
  const parts = start.offset < JUMP_FROM ? splitByTime(partitions, range) : [{ partitions, ids: range }]
  let rows: ActionRow[] = []
  // Each part is older than the one before it; most pages need only the first.
  for (const part of parts) {
    const wanted = start.offset + limit - rows.length
    if (wanted === 0) break
    const skipped = parts.length === 1 ? start.offset : 0
    rows = rows.concat(await newestRows(db, headsOf([part], wanted), wanted, skipped))
  }
  return parts.length === 1 ? rows : rows.slice(start.offset)
}

async function newestRows(db: Database, heads: RawBuilder<{ id: number }>, limit: number, offset: number) {
  const { rows } = await sql<ActionRow>`
    select * from actions where id = any(array(
      select heads.id from ${heads} as heads
      order by heads.id desc offset ${offset}::bigint limit ${limit - offset}::bigint
    )) order by id desc`.execute(db)
  return rows
}

/** Counts up to one past the limit. */
async function countRows(db: Database, partitions: readonly Partitions[], ids: Bounds): Promise<number> {
  const limit = COUNT_LIMIT + 1
  // Without a look at times first: it may be enough.
  const parts = splitByTime(partitions, ids).toSorted((a, b) => timed(a.partitions) - timed(b.partitions))
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from (
      select from ${headsOf(parts, limit)} as heads limit ${limit}::bigint
    ) as counted`.execute(db)
  return rows[0]!.total
}

function timed(partitions: readonly Partitions[]): number {
  return partitions.some(({ created }) => created.length > 0) ? 1 : 0
}
