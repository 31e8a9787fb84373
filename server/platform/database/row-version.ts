import { sql } from 'kysely'

/** PostgreSQL's own version of a row, which changes with every update: the ETag of a record. */
export function rowVersion(table: string) {
  return sql<string>`${sql.ref(`${table}.xmin`)}`.as('row_version')
}
