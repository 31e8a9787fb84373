import {
  type Document,
  isAlias,
  isMap,
  isPair,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Node,
  parseDocument,
  visit,
} from 'yaml'
import { faultOfText, MAX_DEPTH } from '#http/json-body.ts'
import type { ErrorsByField } from '#http/validation.ts'
import { fillText } from './fill-values.ts'
import { createLocator, describe, type Fault, keyText, type Path } from './positions.ts'

/** More than any file that people keep; the time that reading takes grows with them. */
const MOST_PARTS = 100_000
const MOST_NODES = 100_000
const MOST_FILLED_CHARACTERS = 4 * 1024 * 1024
const MOST_SYNTAX_FAULTS = 20

export type ReadDocument =
  | {
      kind: 'read'
      value: unknown
      /** Faults that do not keep the rest from being checked. */
      faults: Fault[]
      /** Whether `values` filled in what stands there, or something in it. */
      isFilled: (path: Path) => boolean
      unusedValues: string[]
      locate: (path: Path, onKey?: boolean) => string
    }
  | { kind: 'unreadable'; errors: ErrorsByField }

/**
 * YAML or JSON → a plain value, with `${NAME}` filled in. Everything is refused that would make the file mean more
 * than it shows (tags, merge keys, several documents), or that is made to keep us busy.
 */
export function readDocument(text: string, values: Readonly<Record<string, string>>): ReadDocument {
  if (hasTooManyParts(text)) return unreadable([`has more than ${MOST_PARTS} parts`])
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
    // The library compares each key with each other one; we look for repeats ourselves.
    uniqueKeys: false,
  })
  const broken = [...document.errors, ...document.warnings].slice(0, MOST_SYNTAX_FAULTS)
  const say = (offset: number, message: string) => `${describe(lines, offset)}: ${message}`
  if (broken.length > 0)
    return unreadable(broken.map(({ pos, code, message }) => say(pos[0], MESSAGES[code] ?? message)))
  if (hasDirectives(document)) return unreadable([say(0, 'directives (%YAML, %TAG) are not used here')])
  const strange = findStrange(document)
  if (strange.faults.length > 0) return unreadable(strange.faults.map(({ at, message }) => say(at, message)))

  const locate = createLocator(document, strange.targets, lines)
  const converted = convert(document.contents as Node | null, strange.targets, values)
  if (converted.fatal) return unreadable([`${locate(converted.fatal.path)}: ${converted.fatal.message}`])
  const { value, faults, filled, used } = converted
  return {
    kind: 'read',
    value,
    faults,
    isFilled: (path) => filled.has(JSON.stringify(path)),
    unusedValues: Object.keys(values).filter((name) => !used.has(name)),
    locate,
  }
}

function unreadable(messages: string[]): ReadDocument {
  return { kind: 'unreadable', errors: { document: messages } }
}

const MESSAGES: Record<string, string> = {
  MULTIPLE_DOCS: 'a second document begins here; there must be one',
  TAG_RESOLVE_FAILED: 'tags such as !this are not used here',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
}

/** Cheap to count, and what the rest of reading costs is in proportion. */
function hasTooManyParts(text: string): boolean {
  let parts = 0
  for (const token of new Lexer().lex(text)) {
    parts += token.startsWith('"') ? token.split('\\').length : 1
    if (parts > MOST_PARTS) return true
  }
  return false
}

function hasDirectives({ directives }: Document): boolean {
  return directives !== undefined && (directives.yaml.explicit || Object.keys(directives.tags).length > 1)
}

type Strange = { faults: { at: number; message: string }[]; targets: Map<Node, Node> }

/** Goes through the nodes once, in the order in which they are written: an alias means the last anchor before it. */
function findStrange(document: Document): Strange {
  const faults: Strange['faults'] = []
  const targets: Strange['targets'] = new Map()
  const anchors = new Map<string, Node>()
  const refuse = (node: Node, message: string) => {
    if (faults.length < MOST_SYNTAX_FAULTS) faults.push({ at: node.range?.[0] ?? 0, message })
  }
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source)
        if (target) targets.set(node, target)
        else refuse(node, `there is no anchor &${node.source} before this`)
        return
      }
      if (node.anchor) anchors.set(node.anchor, node)
      if (node.tag) refuse(node, 'tags are not used here')
    },
    Pair(_key, { key }) {
      if (isScalar(key) && key.value === '<<')
        refuse(key, 'merge keys (<<) are not used here: repeat the fields')
      else if (!isScalar(key)) refuse((key ?? document.contents) as Node, 'a key must be a plain text')
    },
  })
  return { faults, targets }
}

type Converted = {
  value: unknown
  faults: Fault[]
  filled: Set<string>
  used: Set<string>
  fatal?: Fault
}

function convert(
  root: Node | null,
  targets: ReadonlyMap<Node, Node>,
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
            : faultOfText(key)
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
    const fault = faultOfText(result.text)
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
