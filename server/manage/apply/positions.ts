import { type Document, isAlias, isMap, isPair, isScalar, isSeq, type LineCounter, type Node } from 'yaml'

/** Where something stands in a document: keys and places in lists, from the outside in. */
export type Path = readonly (string | number)[]

export type Fault = {
  path: Path
  message: string /** The name of the thing is meant, not what it is. */
  onKey?: boolean
}

/** Which node an alias stands for. */
export type Targets = ReadonlyMap<Node, Node>

/** A key as it is written: `01: …` is the name `01`. */
export function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value ?? ''))
}

/** `line 12, column 9`: of the node at a path, or of the nearest one around it. */
export function createLocator(document: Document, targets: Targets, lines: LineCounter) {
  return (path: Path, onKey = false): string => {
    let node = document.contents as Node | null
    let position = offsetOf(node)
    for (const [index, part] of path.entries()) {
      const found = node && step(targets.get(node) ?? node, part)
      if (!found) break
      const isLast = index === path.length - 1
      position = isLast && onKey ? found.key : (offsetOf(found.value) ?? found.key)
      node = found.value
    }
    return describe(lines, position ?? 0)
  }
}

export function describe(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return `line ${Math.max(line, 1)}, column ${Math.max(col, 1)}`
}

function step(node: Node, part: string | number): { key: number; value: Node | null } | undefined {
  if (isMap(node)) {
    // Of keys that stand there twice, the later one is at fault.
    const pair = node.items.findLast((item) => isPair(item) && keyText(item.key) === String(part))
    return pair && { key: offsetOf(pair.key as Node) ?? 0, value: pair.value as Node | null }
  }
  if (!isSeq(node)) return undefined
  const value = node.items[Number(part)] as Node | undefined
  return value && { key: offsetOf(value) ?? 0, value }
}

/** Nothing is written where a value is empty. */
function offsetOf(node: Node | null | undefined): number | undefined {
  if (!node?.range || (isScalar(node) && node.range[0] === node.range[1] && !isAlias(node))) return undefined
  return node.range[0]
}
