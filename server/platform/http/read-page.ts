import { type SelectQueryBuilder, sql } from 'kysely'
import { anyContains } from '#platform/database/contains.ts'
import type { Extent, Page } from './pagination.ts'

/**
 * One page of a query on a table, newest first, and the total. Exact: for resources that people create one by one.
 * With `name`: only rows whose name contains it, case-insensitively.
 */
export async function readPage<Tables, Table extends keyof Tables, Row>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  table: Table & string,
  page: Page,
  name?: string,
): Promise<{ rows: Row[]; extent: Extent }> {
  const chosen = name === undefined ? query : query.where(anyContains([`${table}.name`], name))
  const { total } = await chosen
    .clearSelect()
    .select(sql<number>`count(*)`.as('total'))
    .$castTo<{ total: number }>()
    .executeTakeFirstOrThrow()
  const newest = sql.ref(`${table}.id`)
  const rows = await chosen.orderBy(newest, 'desc').limit(page.limit).offset(page.offset).execute()
  return { rows, extent: { total, hasMore: rows.length > 0 && page.offset + rows.length < total } }
}
