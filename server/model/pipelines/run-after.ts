/** The pipelines that each pipeline runs after. */
type RunAfter = ReadonlyMap<number, readonly number[]>

/**
 * The cycle that results if `id` runs after `wanted`, from `id` to `id`: each one runs after the next. Undefined
 * when there is none. Pure.
 */
export function findCycle(known: RunAfter, id: number, wanted: readonly number[]): number[] | undefined {
  const seen = new Set<number>()
  const open = wanted.map((next) => [id, next])
  for (let path = open.pop(); path; path = open.pop()) {
    const last = path.at(-1)!
    if (last === id) return path
    if (seen.has(last)) continue
    seen.add(last)
    for (const next of known.get(last) ?? []) open.push([...path, next])
  }
  return undefined
}
