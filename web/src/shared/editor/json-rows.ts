// Which nodes of a JSON value a tree shows, and which ones a search finds. Pure.
import { childOf, hookPath, isContainer, keysOf, valueText } from './json-nodes.ts'

export type JsonRow = {
  /** Unique in the tree. */
  id: string
  keys: readonly string[]
  /** The last key, or an empty string for the root. */
  name: string
  value: unknown
  /** From 1. */
  level: number
  position: number
  siblings: number
  isExpanded: boolean | undefined
}

type Open = { value: unknown; keys: readonly string[]; names: string[]; next: number }

export const ROOT_ID = rowId([])

export function rowId(keys: readonly string[]): string {
  return JSON.stringify(keys)
}

/** The rows in sight, top to bottom: what is inside of a node follows it if `expanded` has its id. */
export function visibleRows(root: unknown, expanded: ReadonlySet<string>): JsonRow[] {
  const rows: JsonRow[] = []
  for (const { keys, value, position, siblings } of walk(root, (at) => expanded.has(rowId(at)))) {
    const id = rowId(keys)
    const isExpanded = isContainer(value) && keysOf(value).length > 0 ? expanded.has(id) : undefined
    const name = keys.at(-1) ?? ''
    rows.push({ id, keys, name, value, level: keys.length + 1, position, siblings, isExpanded })
  }
  return rows
}

/** The paths whose key or scalar contains `query`, in document order, at most `limit`. */
export function findNodes(root: unknown, query: string, limit: number): (readonly string[])[] {
  const wanted = query.toLowerCase()
  const found: (readonly string[])[] = []
  if (wanted === '') return found
  for (const { keys, value } of walk(root, () => true)) {
    const isNamed = (keys.at(-1) ?? '').toLowerCase().includes(wanted)
    const isValued = !isContainer(value) && valueText(value).toLowerCase().includes(wanted)
    if (isNamed || isValued || hookPath(keys).toLowerCase() === wanted) found.push(keys)
    if (found.length >= limit) break
  }
  return found
}

/** Every node that has to be expanded for this one to be in sight. */
export function ancestorIds(keys: readonly string[]): string[] {
  return keys.map((_, index) => rowId(keys.slice(0, index)))
}

type Node = { keys: readonly string[]; value: unknown; position: number; siblings: number }

function* walk(root: unknown, isOpen: (keys: readonly string[]) => boolean): Generator<Node> {
  yield { keys: [], value: root, position: 1, siblings: 1 }
  const stack: Open[] = []
  const open = (value: unknown, keys: readonly string[]) => {
    if (isContainer(value) && isOpen(keys)) stack.push({ value, keys, names: keysOf(value), next: 0 })
  }
  open(root, [])
  for (let top = stack.at(-1); top; top = stack.at(-1)) {
    const name = top.names[top.next]
    if (name === undefined) {
      stack.pop()
      continue
    }
    top.next += 1
    const keys = [...top.keys, name]
    const value = childOf(top.value, name)
    yield { keys, value, position: top.next, siblings: top.names.length }
    open(value, keys)
  }
}
