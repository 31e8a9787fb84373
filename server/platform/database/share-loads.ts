import { CompiledQuery, type RawBuilder } from 'kysely'
import type { Database } from './connect.ts'

const MOST_KEYS = 100

/**
 * Reads that many requests want at the same time become one: keys that are asked for in the same turn of the
 * event loop, or while a load is under way, share the next one. A load begins only after all of its keys were
 * asked for, so nobody gets an answer that is older than the question.
 */
export function shareLoads<Row>(
  load: (keys: string[]) => Promise<Map<string, Row>>,
): (key: string) => Promise<Row | undefined> {
  type Group = { keys: Set<string>; rows: Promise<Map<string, Row>> }
  let gathering: Group | undefined
  /** One at a time: a second would only compete with the first, and find fewer to share with. */
  let previous: Promise<unknown> = Promise.resolve()

  async function loadAfter(earlier: Promise<unknown>, keys: Set<string>): Promise<Map<string, Row>> {
    await new Promise(setImmediate)
    await earlier
    if (gathering?.keys === keys) gathering = undefined
    return load([...keys])
  }

  return async (key) => {
    if (!gathering || gathering.keys.size >= MOST_KEYS) {
      const keys = new Set<string>()
      const rows = loadAfter(previous, keys)
      previous = rows.catch(() => {})
      gathering = { keys, rows }
    }
    const group = gathering
    group.keys.add(key)
    return (await group.rows).get(key)
  }
}

/**
 * Shared loads of rows by id with one long statement, whose text is built only once. The statement begins with
 * the ids it is given, so that they are its first parameter.
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
