import { type RawBuilder, sql } from 'kysely'

/** The columns that the actions of a lane have in common; an index over them and the id keeps a lane in order. */
export type PartitionKey = readonly (
  | 'environment_id'
  | 'pipeline_id'
  | 'status'
  | 'trigger_type'
  | 'hook_id'
  | 'credential_id'
)[]

type PartitionOptions = {
  /** Both ends included. */
  ids: { from: number | RawBuilder<unknown>; upTo: number }
  where?: RawBuilder<unknown>[]
  limit: number
}

/** All ids that there are. */
export const ANY_ID = { from: 0, upTo: Number.MAX_SAFE_INTEGER }

/**
 * The newest actions (`a`) of a lane, for use behind `lateral`: what stands before is called `lane` and has
 * the columns of the key.
 *
 * PostgreSQL must take the lane's own index, whatever it believes about the values: on a walk down the
 * primary key, or over the table, it meets every action that there is before it has met the few of a small
 * lane. So the key stands in the order, which no other index has; it is not compared by `=`, which would
 * settle it and drop it from the order again; and the limit is hidden in a subquery, because one whose
 * value is known may make a sort of the whole lane look cheap.
 */
export function newestInPartition(
  key: PartitionKey,
  { ids, where = [], limit }: PartitionOptions,
): RawBuilder<unknown> {
  const conditions = [...(isAnyId(ids) ? inPartition(key) : inStretch(key, ids)), ...where]
  const newestFirst = sql.join([...key, 'id'].map((column) => sql`${sql.ref(`a.${column}`)} desc`))
  return sql`(
    select a.id from actions a where ${sql.join(conditions, sql` and `)}
    order by ${newestFirst} limit (select ${limit}::bigint))`
}

function isAnyId({ from, upTo }: PartitionOptions['ids']): boolean {
  return from === ANY_ID.from && upTo === ANY_ID.upTo
}

function inPartition(key: PartitionKey): RawBuilder<unknown>[] {
  return key.map((column) => sql`${sql.ref(`a.${column}`)} = any(array[${sql.ref(`lane.${column}`)}])`)
}

/** Compares whole index entries: a condition on the id alone would bring the primary key back into play. */
function inStretch(key: PartitionKey, { from, upTo }: PartitionOptions['ids']): RawBuilder<unknown>[] {
  const columns = sql.join([...key, 'id'].map((column) => sql.ref(`a.${column}`)))
  const values = sql.join(key.map((column) => sql.ref(`lane.${column}`)))
  return [
    sql`(${columns}) >= (${values}, ${from}::bigint)`,
    sql`(${columns}) <= (${values}, ${upTo}::bigint)`,
  ]
}
