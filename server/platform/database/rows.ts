import { type InsertObject, type SelectQueryBuilder, sql, type UpdateObject } from 'kysely'
import type { Transaction } from './connect.ts'
import type { Tables } from './tables.ts'

// What writing any resource has in common.

type ResourceTable =
  | 'organizations'
  | 'projects'
  | 'environments'
  | 'roles'
  | 'credentials'
  | 'servers'
  | 'applications'
  | 'application_variables'
  | 'pipelines'
  | 'pipeline_steps'
  | 'hooks'

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
export async function insertRow<Table extends ResourceTable>(
  trx: Transaction,
  table: Table,
  columns: InsertObject<Tables, Table>,
): Promise<number> {
  const { id } = await trx
    .insertInto(table as 'servers')
    .values(columns as InsertObject<Tables, 'servers'>)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

/** Undefined columns stay. Without any, the row still gets a new version. */
export async function updateRow<Table extends ResourceTable>(
  trx: Transaction,
  table: Table,
  id: number | string,
  columns: UpdateObject<Tables, Table> = {},
): Promise<void> {
  await trx
    .updateTable(table as 'servers')
    .set({ ...columns, updated_at: NOW })
    .where('id', '=', id as number)
    .execute()
}
