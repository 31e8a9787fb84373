import { buildTrie, collectSymbols, type Trie, type Word } from './trie.ts'

/**
 * Finds all occurrences of many words (none of them empty) in a stream of text in one pass, however many words there
 * are and however they overlap (Aho–Corasick). A state is the longest suffix of the text so far that is a prefix of a
 * word; state 0 is the empty one.
 */
export type Finder = {
  /**
   * Reads `text` from `from` on, and calls `found` for the words that end at each position, longest first, until it
   * returns true. A word may begin in text that was read before. Letters of ASCII match in either case; where that is
   * not enough, `exact` has the texts that are meant.
   *
   * Returns where it stopped: at the end, or at a line break that divides a word that may wrap. Go on behind the break:
   * it counts as not there.
   */
  scan(text: string, from: number, cursor: Cursor, found: Found): number
  /** How many of the last characters could be the beginning of a word. */
  depth(cursor: Cursor): number
}

export type Found = (end: number, length: number, exact: readonly string[] | undefined) => boolean
/** `column`: how many characters the current line has so far; `hasSpace`: whether one of them is a space. */
export type Cursor = { state: number; column: number; hasSpace: boolean }

/** The lines of `xxd -p`; `openssl base64` and PEM; `base64` and MIME. */
const WRAP_COLUMNS = new Set([60, 64, 76])
const [LINE_FEED, RETURN] = [0x0a, 0x0d]

/** Most of a text stays near the root: up to this depth, a table has all transitions. */
const TABLE_DEPTH = 3
const MAX_TABLE = 2 ** 20

export function createFinder(words: readonly Word[]): Finder {
  const { symbols, count } = collectSymbols(words)
  const trie = buildTrie(words, symbols)
  const { symbol, child, sibling, depth } = trie
  const fallback = new Int32Array(trie.size)
  /** The longest suffix of a state that is a word, or that may go on behind a line break; 0 for none. */
  const wordState = new Int32Array(trie.size)
  const wrapState = new Int32Array(trie.size)
  const tabled = countTabled(trie, count)
  const table = new Int32Array(tabled * count)

  function nextOf(state: number, wanted: number): number {
    for (let at = state; ; at = fallback[at]!) {
      if (at < tabled) return table[at * count + wanted]!
      let next = child[at]!
      while (next !== 0 && symbol[next] !== wanted) next = sibling[next]!
      if (next !== 0) return next
    }
  }

  // In the order of the states, because a state falls back to a shallower one.
  for (let state = 0; state < trie.size; state++) {
    const shorter = fallback[state]!
    wordState[state] = trie.isWord[state] ? state : wordState[shorter]!
    wrapState[state] = trie.mayWrap[state] ? state : wrapState[shorter]!
    const row = state * count
    if (state < tabled) table.copyWithin(row, shorter * count, (shorter + 1) * count)
    for (let next = child[state]!; next !== 0; next = sibling[next]!) {
      fallback[next] = state === 0 ? 0 : nextOf(shorter, symbol[next]!)
      if (state < tabled) table[row + symbol[next]!] = next
    }
  }

  function report(state: number, end: number, found: Found): void {
    for (let at = wordState[state]!; at !== 0; at = wordState[fallback[at]!]!)
      if (found(end, depth[at]!, trie.exact.get(at))) return
  }

  /** The state behind a line break that counts as not there; 0 for a break like any other. */
  function wrappedAt(state: number, wanted: number, { hasSpace }: { hasSpace: boolean }): number {
    const wrapped = wrapState[state]!
    if (wrapped === 0 || hasSpace) return 0
    // Of a word that contains the break itself, more has been found.
    return depth[nextOf(state, wanted)]! > depth[wrapped]! ? 0 : wrapped
  }

  return {
    scan(text, from, cursor, found) {
      let { state, hasSpace } = cursor
      let lineStart = from - cursor.column
      /** The current line, up to a position. */
      const lineAt = (at: number) => ({
        column: at - lineStart,
        hasSpace: hasSpace || text.slice(Math.max(lineStart, from), at).includes(' '),
      })
      for (let at = from; at < text.length; at++) {
        const code = text.charCodeAt(at)
        const wanted = code < symbols.length ? symbols[code]! : 0
        if (code === LINE_FEED || code === RETURN) {
          const isUsualLength = WRAP_COLUMNS.has(at - lineStart)
          const wrapped = isUsualLength ? wrappedAt(state, wanted, lineAt(at)) : 0
          if (wrapped !== 0) {
            const line = code === LINE_FEED ? { column: 0, hasSpace: false } : lineAt(at)
            Object.assign(cursor, { state: wrapped, ...line })
            return at
          }
          if (code === LINE_FEED) [lineStart, hasSpace] = [at + 1, false]
        }
        state = state < tabled ? table[state * count + wanted]! : nextOf(state, wanted)
        if (wordState[state] !== 0) report(state, at + 1, found)
      }
      Object.assign(cursor, { state, ...lineAt(text.length) })
      return text.length
    },
    depth: ({ state }) => depth[state]!,
  }
}

function countTabled({ depth, size }: Trie, symbolCount: number): number {
  const most = Math.max(1, Math.floor(MAX_TABLE / symbolCount))
  let states = 1
  while (states < Math.min(size, most) && depth[states]! <= TABLE_DEPTH) states += 1
  return states
}
