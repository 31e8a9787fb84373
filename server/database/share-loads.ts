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
