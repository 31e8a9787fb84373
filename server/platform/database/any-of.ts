import { sql } from 'kysely'

/** One parameter for any number of ids, so that the statement's text, and its plan, stay the same. */
export function anyOf(column: string, ids: readonly number[]) {
  return sql<boolean>`${sql.ref(column)} = any(${[...new Set(ids)]}::bigint[])`
}

export function byId<Row extends { id: number }>(rows: readonly Row[]): Map<number, Row> {
  return new Map(rows.map((row) => [row.id, row]))
}
