import { isMap, isPair, isScalar, isSeq, type Node } from 'yaml'
import { MAX_DEPTH, unstorableReason } from '#platform/http/json-body.ts'
import { fillText } from './fill-values.ts'
import { type Fault, keyText, type Path, type Targets } from './positions.ts'

/** Aliases let a short text stand for any number of values. */
const MOST_NODES = 100_000
const MOST_FILLED_CHARACTERS = 4 * 1024 * 1024

export type Converted = {
  value: unknown
  faults: Fault[]
  filled: Set<string>
  used: Set<string>
  fatal?: Fault
}

/** Nodes → a plain value. Aliases are followed, within limits. */
export function convert(
  root: Node | null,
  targets: Targets,
  values: Readonly<Record<string, string>>,
): Converted {
  const made: Converted = { value: null, faults: [], filled: new Set(), used: new Set() }
  const around = new Set<Node>()
  let nodes = 0
  let filledCharacters = 0
  made.value = meet(root, [])
  return made

  function meet(written: Node | null, path: Path): unknown {
    if (written === null || made.fatal) return null
    const node = targets.get(written) ?? written
    if (++nodes > MOST_NODES) return stop(path, `the aliases here stand for more than ${MOST_NODES} values`)
    if (path.length > MAX_DEPTH) return stop(path, `is nested deeper than ${MAX_DEPTH} levels`)
    if (isScalar(node)) return scalar(node.value, path)
    if (around.has(node)) return stop(path, 'contains itself')
    around.add(node)
    const value = isMap(node)
      ? map(node, path)
      : isSeq(node)
        ? node.items.map((item, index) => meet(item as Node, [...path, index]))
        : null
    around.delete(node)
    return value
  }

  function map(node: { items: unknown[] }, path: Path): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const pair of node.items) {
      if (!isPair(pair)) continue
      const key = keyText(pair.key) ?? ''
      const fault =
        key === '__proto__'
          ? 'is not a name'
          : Object.hasOwn(value, key)
            ? 'stands here twice'
            : unstorableReason(key)
      if (fault) made.faults.push({ path: [...path, key.replaceAll('\0', '?')], message: fault, onKey: true })
      else value[key] = meet(pair.value as Node | null, [...path, key])
    }
    return value
  }

  function scalar(value: unknown, path: Path): unknown {
    if (typeof value === 'string') return fill(value, path)
    if (typeof value === 'bigint' || (typeof value === 'number' && !isExact(value))) {
      made.faults.push({
        path,
        message: 'is a number that cannot be kept exactly: write it as text, in quotes',
      })
      return null
    }
    return value ?? null
  }

  function fill(text: string, path: Path): string {
    const result = fillText(text, values)
    if (result.kind === 'faulty') {
      made.faults.push(...result.messages.map((message) => ({ path, message })))
      return text
    }
    const fault = unstorableReason(result.text)
    if (fault) made.faults.push({ path, message: fault })
    if (result.kind === 'filled') {
      for (const name of result.used) made.used.add(name)
      for (let length = 1; length <= path.length; length++)
        made.filled.add(JSON.stringify(path.slice(0, length)))
      filledCharacters += result.text.length
      if (filledCharacters > MOST_FILLED_CHARACTERS)
        stop(path, 'would be too large once all values are filled in')
    }
    return result.text
  }

  function stop(path: Path, message: string): null {
    made.fatal ??= { path, message }
    return null
  }
}

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}
