import { sql } from 'kysely'

/** One parameter for any number of ids, so that the statement's text stays the same. */
export function anyOf(column: string, ids: readonly number[]) {
  return sql<boolean>`${sql.ref(column)} = ${anyId([...new Set(ids)])}`
}

/**
 * `= any of these`, without its number: PostgreSQL keeps one plan for all, instead of planning for each number of ids what
 * takes less time to run. For statements that read by index in any case.
 */
export function anyId(ids: readonly number[]) {
  return sql`any((select ${ids}::bigint[])::bigint[])`
}

export function byId<Row extends { id: number }>(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [row.id, row]))
}
