import { isMap, isPair, isScalar, isSeq, type Node, type Scalar } from 'yaml'
import { largeInteger } from '#platform/exact-json.ts'
import { MAX_DEPTH, unstorableReason } from '#platform/http/json-body.ts'
import type { Path, Problem } from './problems.ts'

/** Aliases let a short text represent any number of values. */
const MAX_NODES = 100_000
const MAX_FILLED_CHARACTERS = 4 * 1024 * 1024

/** Which node an alias refers to. */
export type Targets = ReadonlyMap<Node, Node>

export type Values = Readonly<Record<string, string>>

type Converted = {
  value: unknown
  problems: Problem[]
  /** Paths that placeholders filled in, with every path around them, as JSON. */
  filled: Set<string>
  used: Set<string>
  fatal?: Problem
}

/** Nodes → a plain value. Aliases are followed, within limits. */
export function convert(root: Node | null, targets: Targets, values: Values): Converted {
  const result: Converted = { value: null, problems: [], filled: new Set(), used: new Set() }
  const ancestors = new Set<Node>()
  let nodes = 0
  let filledCharacters = 0
  result.value = visit(root, [])
  return result

  function visit(written: Node | null, path: Path): unknown {
    if (written === null || result.fatal) return null
    const node = targets.get(written) ?? written
    if (++nodes > MAX_NODES) return stop(path, `the aliases expand to more than ${MAX_NODES} values`)
    if (path.length > MAX_DEPTH) return stop(path, `is nested deeper than ${MAX_DEPTH} levels`)
    if (isScalar(node)) return scalar(node, path)
    if (ancestors.has(node)) return stop(path, 'contains itself')
    ancestors.add(node)
    const value = isMap(node)
      ? map(node, path)
      : isSeq(node)
        ? node.items.map((item, index) => visit(item as Node, [...path, index]))
        : null
    ancestors.delete(node)
    return value
  }

  function map(node: { items: unknown[] }, path: Path): Record<string, unknown> {
    const value: Record<string, unknown> = {}
    for (const pair of node.items) {
      if (!isPair(pair)) continue
      const key = keyText(pair.key) ?? ''
      const message = Object.hasOwn(value, key) ? 'is a duplicate key' : keyProblem(key, path)
      if (message) result.problems.push({ path: [...path, key.replaceAll('\0', '?')], message, onKey: true })
      else setOwn(value, key, visit(pair.value as Node | null, [...path, key]))
    }
    return value
  }

  function scalar({ value, source = '' }: Scalar, path: Path): unknown {
    if (typeof value === 'string') return fill(value, path)
    if (typeof value === 'bigint' || (typeof value === 'number' && !isExact(value))) {
      if (isInRequestBody(path) && /^[-+]?\d+$/.test(source))
        return largeInteger(String(BigInt(source.replace('+', ''))))
      const message = 'is a number that cannot be stored exactly: quote it to make it a string'
      result.problems.push({ path, message })
      return null
    }
    return value ?? null
  }

  function fill(text: string, path: Path): string {
    const filled = fillText(text, values)
    if (filled.kind === 'invalid') {
      result.problems.push(...filled.messages.map((message) => ({ path, message })))
      return text
    }
    const message = unstorableReason(filled.text)
    if (message) result.problems.push({ path, message })
    if (filled.kind === 'filled') {
      for (const name of filled.used) result.used.add(name)
      for (let length = 1; length <= path.length; length++)
        result.filled.add(JSON.stringify(path.slice(0, length)))
      filledCharacters += filled.text.length
      if (filledCharacters > MAX_FILLED_CHARACTERS) stop(path, 'is too large after values are filled in')
    }
    return filled.text
  }

  function stop(path: Path, message: string): null {
    result.fatal ??= { path, message }
    return null
  }
}

/** As in the API: a resource may be called `__proto__`, while no other key may. */
function keyProblem(key: string, path: Path): string | undefined {
  return key === '__proto__' && !isSection(path) ? 'is not a valid name' : unstorableReason(key)
}

/** Whether the keys of the object at a path are names of resources. */
function isSection(path: Path): boolean {
  return SECTION.test(path.map((part, index) => (index % 2 === 1 ? '*' : part)).join('/'))
}

const SECTION =
  /^(credentials|environments(\/\*\/(freezes|(servers|applications)(\/\*\/(variables|pipelines(\/\*\/hooks\/\*)?))?))?)$/

/** An assignment would change the prototype if the name is `__proto__`. */
function setOwn(object: object, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true })
}

/** A key as it is written: `01: …` is the name `01`. */
export function keyText(key: unknown): string | undefined {
  if (!isScalar(key)) return undefined
  return typeof key.value === 'string' ? key.value : (key.source ?? String(key.value ?? ''))
}

/** A body that an outgoing hook sends keeps integers of any size. */
function isInRequestBody(path: Path): boolean {
  return path.some((_, start) =>
    REQUEST_BODIES.some((words) =>
      words.every((word, index) => (word === '' ? true : path[start + index] === word)),
    ),
  )
}

const REQUEST_BODIES = [
  ['hooks', 'outgoing', '', 'settings', 'request_body'],
  ['hooks', 'outgoing', '', 'settings', 'requests', '', 'request_body'],
]

function isExact(value: number): boolean {
  return Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
}

type Filled =
  | { kind: 'filled'; text: string; used: string[] }
  | { kind: 'plain'; text: string }
  | { kind: 'invalid'; messages: string[] }

const PLACEHOLDER = /\$\$\{|\$\{(?:([A-Za-z_][A-Za-z0-9_]{0,63})\})?/g
const UNTERMINATED = `has \${ without a name and a closing }: write $\${ for a literal \${`

/** `${NAME}` → its value; `$${` → `${`. Filled-in text is not expanded again. Pure. */
export function fillText(text: string, values: Values): Filled {
  if (!text.includes('${')) return { kind: 'plain', text }
  const used: string[] = []
  const messages = new Set<string>()
  const filled = text.replaceAll(PLACEHOLDER, (found, name: string | undefined) => {
    if (found === '$${') return '${'
    if (name !== undefined && Object.hasOwn(values, name)) {
      used.push(name)
      return values[name]!
    }
    messages.add(name === undefined ? UNTERMINATED : `uses \${${name}}, which is not in values`)
    return ''
  })
  if (messages.size > 0) return { kind: 'invalid', messages: [...messages] }
  return used.length > 0 ? { kind: 'filled', text: filled, used } : { kind: 'plain', text: filled }
}
