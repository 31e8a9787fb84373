import { type InsertObject, type Selectable, type SelectQueryBuilder, sql, type UpdateObject } from 'kysely'
import { anyOf } from './any-of.ts'
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

type Row<Table extends keyof Tables> = Selectable<Tables[Table]>
type Lock = 'for share' | 'for no key update'

/** The rows with these values: a list means any of these ids, null means `is null`. `lock`: until the transaction ends. */
export async function findRows<Table extends keyof Tables & string, Column extends keyof Row<Table> & string>(
  db: Database,
  table: Table,
  values: { [Name in keyof Row<Table>]?: Row<Table>[Name] | readonly number[] },
  columns: readonly Column[],
  { orderBy, lock }: { orderBy?: keyof Row<Table> & string; lock?: Lock } = {},
) {
  const conditions = Object.entries(values).map(([name, value]) => {
    if (value === null) return sql`${sql.ref(name)} is null`
    return Array.isArray(value) ? anyOf(name, value) : sql`${sql.ref(name)} = ${value}`
  })
  const { rows } = await sql<Pick<Row<Table>, Column>>`
    select ${sql.join(columns.map((name) => sql.ref(name)))} from ${sql.table(table)}
    where ${sql.join(conditions, sql` and `)} ${orderBy ? sql`order by ${sql.ref(orderBy)}` : sql``}
    ${sql.raw(lock ?? '')}`.execute(db)
  return rows
}

/** The one with these values, if there is one. */
export async function findRow<Table extends keyof Tables & string, Column extends keyof Row<Table> & string>(
  db: Database,
  table: Table,
  values: Partial<Row<Table>>,
  columns: readonly Column[],
  lock?: Lock,
) {
  return (await findRows(db, table, values, columns, { lock }))[0]
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
