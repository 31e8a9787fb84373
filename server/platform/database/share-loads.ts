import { CompiledQuery, type RawBuilder } from 'kysely'
import type { Database } from './connect.ts'

const MAX_KEYS = 100

/**
 * Batches concurrent reads: keys that are requested in the same turn of the event loop, or while a load is running,
 * share the next load. A load starts only after all of its keys were requested, so no result is older than its
 * request.
 */
export function shareLoads<Row>(
  load: (keys: string[]) => Promise<Map<string, Row>>,
): (key: string) => Promise<Row | undefined> {
  type Group = { keys: Set<string>; rows: Promise<Map<string, Row>> }
  let collecting: Group | undefined
  /** One at a time: a second load would compete with the first, and batch fewer keys. */
  let previous: Promise<unknown> = Promise.resolve()

  async function loadAfter(earlier: Promise<unknown>, keys: Set<string>): Promise<Map<string, Row>> {
    await new Promise(setImmediate)
    await earlier
    if (collecting?.keys === keys) collecting = undefined
    return load([...keys])
  }

  return async (key) => {
    if (!collecting || collecting.keys.size >= MAX_KEYS) {
      const keys = new Set<string>()
      const rows = loadAfter(previous, keys)
      previous = rows.catch(() => {})
      collecting = { keys, rows }
    }
    const group = collecting
    group.keys.add(key)
    return (await group.rows).get(key)
  }
}

/**
 * Batched loads of rows by id with one long statement, which is built only once. The ids must be its first parameter.
 */
export function shareStatement<Row extends { id: number }>(
  db: Database,
  build: (ids: readonly string[]) => RawBuilder<Row>,
): (id: number) => Promise<Row | undefined> {
  const { sql, parameters } = build([]).compile(db)
  const others = parameters.slice(1)
  const find = shareLoads(async (ids) => {
    const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(sql, [ids, ...others]))
    return new Map(rows.map((row) => [String(row.id), row]))
  })
  return (id) => find(String(id))
}
