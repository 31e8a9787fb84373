// Where the pipelines of a chain are drawn: each to the right of those that it runs after. Pure.
export type ChainPipeline = { id: number; name: string; run_after: readonly number[] }
export type ChainNode = { id: number; name: string; column: number; row: number; after: ChainNode[] }
export type Chain = { nodes: ChainNode[]; columns: number; rows: number }

/** Only pipelines that run after another one, and those that they run after. */
export function layOutChain(pipelines: readonly ChainPipeline[]): Chain {
  const known = new Map(pipelines.map((one) => [one.id, one]))
  const before = (id: number) => (known.get(id)?.run_after ?? []).filter((one) => known.has(one))
  const linked = new Set(pipelines.flatMap(({ id }) => (before(id).length > 0 ? [id, ...before(id)] : [])))
  const columns = new Map<number, number>()
  // The API rejects circles; one that slips through is cut where it closes.
  const columnOf = (id: number, path: readonly number[] = []): number => {
    const done = columns.get(id)
    if (done !== undefined) return done
    const earlier = before(id).filter((one) => !path.includes(one) && one !== id)
    const column = Math.max(-1, ...earlier.map((one) => columnOf(one, [...path, id]))) + 1
    columns.set(id, column)
    return column
  }
  const ids = [...linked].toSorted((one, other) => columnOf(one) - columnOf(other) || one - other)
  const nodes = new Map<number, ChainNode>()
  const used = new Map<number, number>()
  for (const id of ids) {
    const column = columnOf(id)
    const after = before(id).flatMap((one) => nodes.get(one) ?? [])
    const row = Math.max(
      used.get(column) ?? 0,
      Math.min(...after.map((one) => one.row), after.length > 0 ? Number.POSITIVE_INFINITY : 0),
    )
    used.set(column, row + 1)
    nodes.set(id, { id, name: known.get(id)!.name, column, row, after })
  }
  return {
    nodes: [...nodes.values()],
    columns: Math.max(0, ...[...nodes.values()].map(({ column }) => column + 1)),
    rows: Math.max(0, ...used.values()),
  }
}
