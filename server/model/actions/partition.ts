import { type RawBuilder, sql } from 'kysely'

/** The columns that the actions of a partition have in common; an index on them and the id keeps it sorted. */
export type PartitionKey = readonly (
  | 'environment_id'
  | 'gate'
  | 'branch'
  | 'pipeline_id'
  | 'status'
  | 'trigger_type'
  | 'triggered_by'
  | 'hook_id'
  | 'credential_id'
)[]

type PartitionOptions = {
  /** Inclusive. */
  ids: { from: number | RawBuilder<unknown>; upTo: number }
  where?: RawBuilder<unknown>[]
  limit: number
  /** What is selected besides the id. */
  columns?: readonly ('pipeline_id' | 'status')[]
}

/** Every id. */
export const ANY_ID = { from: 0, upTo: Number.MAX_SAFE_INTEGER }

/**
 * The newest actions (`a`) of a partition, for use after `lateral`: the relation before it is called `partition`
 * and has the columns of the key.
 *
 * PostgreSQL must use the partition's own index, whatever it estimates: a scan of the primary key or of the table
 * visits every action before it has found the few of a small partition. So the key is part of the order, which no
 * other index provides; it is not compared by `=`, which would make it constant and drop it from the order again;
 * and the limit is hidden in a subquery, because a known limit may make a sort of the entire partition look cheap.
 */
export function newestInPartition(
  key: PartitionKey,
  { ids, where = [], limit, columns = [] }: PartitionOptions,
): RawBuilder<unknown> {
  const conditions = [...(isAnyId(ids) ? inPartition(key) : inIdRange(key, ids)), ...where]
  return firstInPartition(key, conditions, sql`desc`, limit, columns)
}

/** The same, with the oldest actions. */
export function oldestInPartition(key: PartitionKey, limit: number): RawBuilder<unknown> {
  return firstInPartition(key, inPartition(key), sql`asc`, limit)
}

function firstInPartition(
  key: PartitionKey,
  conditions: RawBuilder<unknown>[],
  direction: RawBuilder<unknown>,
  limit: number,
  columns: PartitionOptions['columns'] = [],
): RawBuilder<unknown> {
  const order = sql.join([...key, 'id'].map((column) => sql`${sql.ref(`a.${column}`)} ${direction}`))
  const selected = sql.join(['id', ...columns].map((column) => sql.ref(`a.${column}`)))
  return sql`(
    select ${selected} from actions a where ${sql.join(conditions, sql` and `)}
    order by ${order} limit (select ${limit}::bigint))`
}

function isAnyId({ from, upTo }: PartitionOptions['ids']): boolean {
  return from === ANY_ID.from && upTo === ANY_ID.upTo
}

function inPartition(key: PartitionKey): RawBuilder<unknown>[] {
  return key.map((column) => sql`${sql.ref(`a.${column}`)} = any(array[${sql.ref(`partition.${column}`)}])`)
}

/**
 * Compares entire index entries: a condition on the id alone would make the primary key attractive again. PostgreSQL
 * estimates such a comparison by its first column: by user it starts with the user, which no other index has there; and
 * the keys by trigger are long enough to be chosen with a condition on the id.
 */
function inIdRange(key: PartitionKey, { from, upTo }: PartitionOptions['ids']): RawBuilder<unknown>[] {
  if (key.includes('trigger_type'))
    return [...inPartition(key), sql`a.id >= ${from}::bigint`, sql`a.id <= ${upTo}::bigint`]
  const start = key.includes('triggered_by') ? key.indexOf('triggered_by') : 0
  const compared = key.slice(start)
  const columns = sql.join([...compared, 'id'].map((column) => sql.ref(`a.${column}`)))
  const values = sql.join(compared.map((column) => sql.ref(`partition.${column}`)))
  return [
    ...inPartition(key.slice(0, start)),
    sql`(${columns}) >= (${values}, ${from}::bigint)`,
    sql`(${columns}) <= (${values}, ${upTo}::bigint)`,
  ]
}
