// Globs of conditions and of changed files. A glob is compiled to a small automaton, and all its states advance together
// over the text: the time is proportional to the length of both. There are no regular expressions.

export const MAX_GLOB_LENGTH = 256
/** A longer text matches no glob: it bounds the time that one call can take. */
export const MAX_TEXT_LENGTH = 4_096

/** `**` crosses slashes; `*` and `?` do not. A folder that is named `**` stands for any number of folders, or none. */
type Node =
  | { kind: 'text'; char: string }
  | { kind: 'any-char' }
  | { kind: 'any-name' }
  | { kind: 'anything' }
  | { kind: 'any-folders' }
  | { kind: 'choice'; branches: Node[][] }

/** What an edge takes: the code of a character, or one of these. */
const NOTHING = -1
const ANY = -2
const NO_SLASH = -3
const SLASH = '/'.codePointAt(0)!

/** The edges of state `s` are those from `starts[s]` to before `starts[s + 1]`. */
export type Glob = { starts: Int32Array; takes: Int32Array; to: Int32Array; end: number }

type Compiled = { kind: 'glob'; glob: Glob } | { kind: 'invalid'; message: string }

/** Braces may be nested; a backslash takes the special meaning from the next character. */
export function compileGlob(text: string): Compiled {
  if (text === '') return { kind: 'invalid', message: 'must not be empty' }
  if (text.length > MAX_GLOB_LENGTH)
    return { kind: 'invalid', message: `must not be longer than ${MAX_GLOB_LENGTH} characters` }
  const parser = { chars: [...text], at: 0 }
  try {
    return { kind: 'glob', glob: build(parse(parser, 0, true)) }
  } catch (error) {
    if (error instanceof GlobError) return { kind: 'invalid', message: error.message }
    throw error
  }
}

class GlobError extends Error {}

type Parser = { chars: string[]; at: number }

/** Reads up to the end, or within braces up to a comma or the closing brace. */
function parse(parser: Parser, depth: number, startsFolder: boolean): Node[] {
  const nodes: Node[] = []
  let isStart = startsFolder
  while (parser.at < parser.chars.length) {
    const char = parser.chars[parser.at]!
    if (depth > 0 && (char === ',' || char === '}')) return nodes
    const node = parseNode(parser, char, depth, isStart)
    nodes.push(node)
    isStart = endsFolder(node, isStart)
  }
  if (depth > 0) throw new GlobError('has a "{" without "}"')
  return nodes
}

/** Whether a folder or file name starts after the node. */
function endsFolder(node: Node, startsFolder: boolean): boolean {
  if (node.kind === 'choice')
    return node.branches.every((branch) =>
      branch.reduce((starts, one) => endsFolder(one, starts), startsFolder),
    )
  return node.kind === 'any-folders' || (node.kind === 'text' && node.char === '/')
}

function parseNode(parser: Parser, char: string, depth: number, startsFolder: boolean): Node {
  parser.at += 1
  if (char === '?') return { kind: 'any-char' }
  if (char === '*') return parseStars(parser, startsFolder)
  if (char === '{') return parseChoice(parser, depth, startsFolder)
  if (char === '}') throw new GlobError('has a "}" without "{"')
  if (char !== '\\') return { kind: 'text', char }
  const escaped = parser.chars[parser.at]
  if (escaped === undefined) throw new GlobError('ends with a backslash')
  parser.at += 1
  return { kind: 'text', char: escaped }
}

function parseStars(parser: Parser, startsFolder: boolean): Node {
  if (parser.chars[parser.at] !== '*') return { kind: 'any-name' }
  while (parser.chars[parser.at] === '*') parser.at += 1
  if (!startsFolder || parser.chars[parser.at] !== '/') return { kind: 'anything' }
  parser.at += 1
  return { kind: 'any-folders' }
}

function parseChoice(parser: Parser, depth: number, startsFolder: boolean): Node {
  const branches: Node[][] = []
  let closing: string
  do {
    branches.push(parse(parser, depth + 1, startsFolder))
    closing = parser.chars[parser.at]!
    parser.at += 1
  } while (closing === ',')
  return { kind: 'choice', branches }
}

function build(nodes: readonly Node[]): Glob {
  const edges: { takes: number; to: number }[][] = [[]]
  const newState = () => edges.push([]) - 1
  const link = (from: number, to: number, takes = NOTHING) => edges[from]!.push({ takes, to })

  /** Returns the state after the node. */
  function add(from: number, node: Node): number {
    const to = newState()
    switch (node.kind) {
      case 'text':
        link(from, to, node.char.codePointAt(0))
        break
      case 'any-char':
        link(from, to, NO_SLASH)
        break
      case 'any-name':
        link(from, to)
        link(to, to, NO_SLASH)
        break
      case 'anything':
        link(from, to)
        link(to, to, ANY)
        break
      case 'any-folders': {
        const inside = newState()
        link(from, to)
        link(from, inside)
        link(inside, inside, ANY)
        link(inside, to, SLASH)
        break
      }
      case 'choice':
        for (const branch of node.branches) link(branch.reduce(add, fork(from)), to)
        break
    }
    return to
  }

  /** Branches start at states of their own: a loop of one must not be entered from another. */
  function fork(from: number): number {
    const start = newState()
    link(from, start)
    return start
  }

  const end = nodes.reduce(add, 0)
  const all = edges.flat()
  const starts = new Int32Array(edges.length + 1)
  edges.forEach((own, state) => {
    starts[state + 1] = starts[state]! + own.length
  })
  return {
    starts,
    takes: Int32Array.from(all, ({ takes }) => takes),
    to: Int32Array.from(all, ({ to }) => to),
    end,
  }
}

// Matching is synchronous, so that all calls share these arrays. A state is listed if its stamp is the current one.
let current = new Int32Array(0)
let next = new Int32Array(0)
let stamps = new Int32Array(0)
let stamp = 0
const LAST_STAMP = 2 ** 30

export function matchesGlob(glob: Glob, text: string): boolean {
  if (text.length > MAX_TEXT_LENGTH) return false
  reserve(glob.starts.length - 1)
  stamp += 1
  stamps[0] = stamp
  current[0] = 0
  let count = reach(glob, current, 1)
  for (let at = 0; at < text.length; ) {
    const code = text.codePointAt(at)!
    at += code > 0xffff ? 2 : 1
    count = advance(glob, count, code)
    if (count === 0) return false
  }
  return stamps[glob.end] === stamp
}

function reserve(states: number): void {
  if (stamps.length >= states && stamp < LAST_STAMP) return
  const size = Math.max(stamps.length, states)
  current = new Int32Array(size)
  next = new Int32Array(size)
  stamps = new Int32Array(size)
  stamp = 0
}

/** Replaces the `count` current states by those that they lead to with the character. Returns how many these are. */
function advance(glob: Glob, count: number, code: number): number {
  const { starts, takes, to } = glob
  // Locals: what the module holds is slower to read.
  const [from, list, seen, mark] = [current, next, stamps, ++stamp]
  let found = 0
  for (let index = 0; index < count; index += 1) {
    const state = from[index]!
    const end = starts[state + 1]!
    for (let edge = starts[state]!; edge < end; edge += 1) {
      const wanted = takes[edge]!
      if (wanted !== code && wanted !== ANY && (wanted !== NO_SLASH || code === SLASH)) continue
      const target = to[edge]!
      if (seen[target] === mark) continue
      seen[target] = mark
      list[found++] = target
    }
  }
  current = list
  next = from
  return reach(glob, list, found)
}

/** Adds all that the `count` listed states lead to without taking a character. Returns how many are listed then. */
function reach({ starts, takes, to }: Glob, list: Int32Array, count: number): number {
  const [seen, mark] = [stamps, stamp]
  let listed = count
  for (let index = 0; index < listed; index += 1) {
    const state = list[index]!
    const end = starts[state + 1]!
    for (let edge = starts[state]!; edge < end; edge += 1) {
      if (takes[edge] !== NOTHING) continue
      const target = to[edge]!
      if (seen[target] === mark) continue
      seen[target] = mark
      list[listed++] = target
    }
  }
  return listed
}
