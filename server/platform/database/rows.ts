import { type InsertObject, type Selectable, type SelectQueryBuilder, sql, type UpdateObject } from 'kysely'
import type { Database, Transaction } from './connect.ts'
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

/** The row with these values, if there is one; null means `is null`. `lock`: until the transaction ends. */
export async function findRow<
  Table extends keyof Tables & string,
  Column extends keyof Selectable<Tables[Table]> & string,
>(
  db: Database,
  table: Table,
  values: Partial<Selectable<Tables[Table]>>,
  columns: readonly Column[],
  lock?: 'for share' | 'for no key update',
) {
  const conditions = Object.entries(values).map(([name, value]) =>
    value === null ? sql`${sql.ref(name)} is null` : sql`${sql.ref(name)} = ${value}`,
  )
  const { rows } = await sql<Pick<Selectable<Tables[Table]>, Column>>`
    select ${sql.join(columns.map((name) => sql.ref(name)))} from ${sql.table(table)}
    where ${sql.join(conditions, sql` and `)} ${sql.raw(lock ?? '')}`.execute(db)
  return rows[0]
}

/** Undefined columns take their default. */
export async function insertRow<Table extends Exclude<ResourceTable, 'hooks'>>(
  trx: Transaction,
  table: Table,
  columns: InsertObject<Tables, Table>,
): Promise<number> {
  const given = givenIn(columns)
  const { rows } = await sql<{ id: number }>`
    insert into ${sql.table(table)} (${sql.join(given.map(([name]) => sql.ref(name)))})
    values (${sql.join(given.map(([, value]) => value))}) returning id`.execute(trx)
  return rows[0]!.id
}

/** Undefined columns stay. Without any, the row still gets a new version. */
export async function updateRow<Table extends ResourceTable>(
  trx: Transaction,
  table: Table,
  id: number | string,
  columns: UpdateObject<Tables, Table> = {},
): Promise<void> {
  const given = givenIn({ ...columns, updated_at: NOW })
  const set = sql.join(given.map(([name, value]) => sql`${sql.ref(name)} = ${value}`))
  await sql`update ${sql.table(table)} set ${set} where id = ${id}`.execute(trx)
}

function givenIn(columns: object): [string, unknown][] {
  return Object.entries(columns).filter(([, value]) => value !== undefined)
}
