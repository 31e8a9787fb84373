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
import type { ErrorsByField } from '#platform/http/validation.ts'
import { convert, keyText, type Targets, type Values } from './convert-nodes.ts'
import type { Path, Problem } from './problems.ts'

/** More than any real file has; parsing time grows with the number of tokens. */
const MAX_TOKENS = 100_000
const MAX_SYNTAX_ERRORS = 20

export type ReadDocument =
  | {
      kind: 'read'
      value: unknown
      /** Problems that do not prevent the rest from being checked. */
      problems: Problem[]
      /** Whether `values` filled in the value at a path, or something in it. */
      isFilled: (path: Path) => boolean
      unusedValues: string[]
      /** `line 12, column 9`: of the node at a path, or of the nearest one around it. */
      locate: (path: Path, onKey?: boolean) => string
    }
  | { kind: 'unreadable'; errors: ErrorsByField }

/**
 * YAML or JSON → a plain value, with `${NAME}` filled in. Rejects everything that would make the file mean more
 * than it shows (tags, merge keys, several documents) or that is crafted to exhaust the parser.
 */
export function readDocument(text: string, values: Values): ReadDocument {
  if (hasTooManyTokens(text)) return unreadable([`has more than ${MAX_TOKENS} tokens`])
  const lines = new LineCounter()
  const document = parseDocument(text, {
    lineCounter: lines,
    version: '1.2',
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    logLevel: 'error',
    // The library compares each key with each other one; `convert` finds duplicates in linear time.
    uniqueKeys: false,
  })
  const syntaxErrors = [...document.errors, ...document.warnings].slice(0, MAX_SYNTAX_ERRORS)
  const located = (offset: number, message: string) => `${describe(lines, offset)}: ${message}`
  if (syntaxErrors.length > 0)
    return unreadable(
      syntaxErrors.map(({ pos, code, message }) => located(pos[0], MESSAGES[code] ?? message)),
    )
  if (hasDirectives(document)) return unreadable([located(0, 'directives (%YAML, %TAG) are not supported')])
  const { unsupported, targets } = inspectNodes(document)
  if (unsupported.length > 0) return unreadable(unsupported.map(({ at, message }) => located(at, message)))

  const locate = createLocator(document, targets, lines)
  const { value, problems, filled, used, fatal } = convert(document.contents as Node | null, targets, values)
  if (fatal) return unreadable([`${locate(fatal.path)}: ${fatal.message}`])
  return {
    kind: 'read',
    value,
    problems,
    isFilled: (path) => filled.has(JSON.stringify(path)),
    unusedValues: Object.keys(values).filter((name) => !used.has(name)),
    locate,
  }
}

function unreadable(messages: string[]): ReadDocument {
  return { kind: 'unreadable', errors: { document: messages } }
}

const MESSAGES: Record<string, string> = {
  MULTIPLE_DOCS: 'a second document starts here; only one is allowed',
  TAG_RESOLVE_FAILED: 'tags such as !this are not supported',
  RESOURCE_EXHAUSTION: 'is nested too deeply',
}

/** Cheap to count, and the cost of the rest is proportional. */
function hasTooManyTokens(text: string): boolean {
  let tokens = 0
  for (const token of new Lexer().lex(text)) {
    tokens += token.startsWith('"') ? token.split('\\').length : 1
    if (tokens > MAX_TOKENS) return true
  }
  return false
}

function hasDirectives({ directives }: Document): boolean {
  return directives !== undefined && (directives.yaml.explicit || Object.keys(directives.tags).length > 1)
}

/** Visits the nodes once, in the order in which they are written: an alias refers to the last anchor before it. */
function inspectNodes(document: Document) {
  const unsupported: { at: number; message: string }[] = []
  const targets = new Map<Node, Node>()
  const anchors = new Map<string, Node>()
  const reject = (node: Node, message: string) => {
    if (unsupported.length < MAX_SYNTAX_ERRORS) unsupported.push({ at: node.range?.[0] ?? 0, message })
  }
  visit(document, {
    Node(_key, node) {
      if (isAlias(node)) {
        const target = anchors.get(node.source)
        if (target) targets.set(node, target)
        else reject(node, `there is no anchor &${node.source} before this alias`)
        return
      }
      if (node.anchor) anchors.set(node.anchor, node)
      if (node.tag) reject(node, 'tags are not supported')
    },
    Pair(_key, { key }) {
      // In quotes it is a name.
      if (isScalar(key) && key.value === '<<' && key.type === 'PLAIN')
        reject(key, 'merge keys (<<) are not supported: repeat the fields')
      else if (!isScalar(key)) reject((key ?? document.contents) as Node, 'a key must be a plain string')
    },
  })
  return { unsupported, targets }
}

function createLocator(document: Document, targets: Targets, lines: LineCounter) {
  return (path: Path, onKey = false): string => {
    let node = document.contents as Node | null
    let position = offsetOf(node)
    for (const [index, part] of path.entries()) {
      const child = node && childOf(targets.get(node) ?? node, part)
      if (!child) break
      const isLast = index === path.length - 1
      position = isLast && onKey ? child.key : (offsetOf(child.value) ?? child.key)
      node = child.value
    }
    return describe(lines, position ?? 0)
  }
}

function describe(lines: LineCounter, offset: number): string {
  const { line, col } = lines.linePos(offset)
  return `line ${Math.max(line, 1)}, column ${Math.max(col, 1)}`
}

function childOf(node: Node, part: string | number): { key: number; value: Node | null } | undefined {
  if (isMap(node)) {
    // Of duplicate keys, the later one is the problem.
    const pair = node.items.findLast((item) => isPair(item) && keyText(item.key) === String(part))
    return pair && { key: offsetOf(pair.key as Node) ?? 0, value: pair.value as Node | null }
  }
  if (!isSeq(node)) return undefined
  const value = node.items[Number(part)] as Node | undefined
  return value && { key: offsetOf(value) ?? 0, value }
}

/** An empty value has no text of its own. */
function offsetOf(node: Node | null | undefined): number | undefined {
  if (!node?.range || (isScalar(node) && node.range[0] === node.range[1] && !isAlias(node))) return undefined
  return node.range[0]
}
