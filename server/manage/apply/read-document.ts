import { type Document, isAlias, isScalar, Lexer, LineCounter, type Node, parseDocument, visit } from 'yaml'
import type { ErrorsByField } from '#platform/http/validation.ts'
import { convert } from './convert-nodes.ts'
import { createLocator, describe, type Fault, type Path } from './positions.ts'

/** More than any file that people keep; the time that reading takes grows with them. */
const MOST_PARTS = 100_000
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
