import { type RawBuilder, sql } from 'kysely'

/** Whether one of the columns contains the text, case-insensitively; every character stands for itself. */
export function anyContains(columns: readonly string[], text: string): RawBuilder<boolean> {
  const conditions = columns.map(
    (column) => sql`coalesce(strpos(lower(${sql.ref(column)}), lower(${text}::text)) > 0, false)`,
  )
  return sql<boolean>`(${sql.join(conditions, sql` or `)})`
}
