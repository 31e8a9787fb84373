import { type InsertObject, type SelectQueryBuilder, sql, type UpdateObject } from 'kysely'
import type { Transaction } from './connect.ts'
import type { Dated } from './tables/columns.ts'
import type { Tables } from './tables.ts'

// What writing any resource has in common.

/** Those whose rows tell when they were changed. */
type ResourceTable = {
  [Table in keyof Tables]: Tables[Table] extends Dated & { id: unknown } ? Table : never
}[keyof Tables]

export const NOW = sql<string>`now()`

/** PostgreSQL's own version of a row, which changes with every update: the ETag of a record. */
export function rowVersion(table: string) {
  return sql<string>`${sql.ref(`${table}.xmin`)}`.as('row_version')
}

/** `lock`: against changes by others, until the transaction ends. */
export function findById<Joined extends Tables, Table extends keyof Joined, Row>(
  query: SelectQueryBuilder<Joined, Table, Row>,
  table: Table & string,
  id: number,
  { lock = false } = {},
) {
  return query
    .where(sql.ref<number>(`${table}.id`), '=', id)
    .$if(lock, (found) => found.forNoKeyUpdate(table))
    .executeTakeFirst()
}

/** Undefined columns take their default. */
export async function insertRow<Table extends Exclude<ResourceTable, 'hooks'>>(
  trx: Transaction,
  table: Table,
  columns: InsertObject<Tables, Table>,
): Promise<number> {
  const insert = trx.insertInto(table as 'roles').values(columns as never)
  return (await insert.returning('id').executeTakeFirstOrThrow()).id
}

/** Undefined columns stay. Without any, the row still gets a new version. */
export async function updateRow<Table extends ResourceTable>(
  trx: Transaction,
  table: Table,
  id: number | string,
  columns: UpdateObject<Tables, Table> = {},
): Promise<void> {
  const set = { ...columns, updated_at: NOW } as never
  await trx
    .updateTable(table as 'roles')
    .set(set)
    .where('id', '=', id as never)
    .execute()
}
