import { type SelectQueryBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { COUNT_LIMIT, type Extent, type Page } from './pagination.ts'

/** One page of a table that grows without bounds, newest first. The total is exact up to the limit of counting. */
export async function readLargePage<Tables, Table extends keyof Tables, Row>(
  db: Database,
  query: SelectQueryBuilder<Tables, Table, Row>,
  { limit, offset }: Page,
): Promise<{ rows: Row[]; extent: Extent }> {
  const some = query
    .clearSelect()
    .select(sql.lit(1).as('one'))
    .limit(COUNT_LIMIT + 1)
  const newestFirst = query.orderBy(sql.ref('id'), 'desc')
  const [rows, counted] = await Promise.all([
    newestFirst
      .limit(limit + 1)
      .offset(offset)
      .execute(),
    sql<{ total: number }>`select count(*) as total from (${some}) as counted`.execute(db),
  ])
  const { total } = counted.rows[0]!
  return { rows: rows.slice(0, limit), extent: { total, hasMore: rows.length > limit } }
}
