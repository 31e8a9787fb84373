/** Words as a tree of prefixes. Nodes are numbered by depth; 0 is the root, and no node is the child of a later one. */
export type Trie = {
  size: number
  symbol: Uint16Array
  /** The first child; the others are its siblings. */
  child: Int32Array
  sibling: Int32Array
  depth: Int32Array
  /** Whether a word ends here. */
  isWord: Uint8Array
  /** Where all words that end here are exact: their texts. */
  exact: Map<number, string[]>
  /** Whether a line break may follow, inside a word. */
  mayWrap: Uint8Array
}

export type Word = {
  text: string
  /** Its letters match in their own case only. */
  isExact?: boolean
  /** It is found, too, when a line break divides it after one of the usual line lengths of encoders. */
  mayWrap?: boolean
}

/** Numbers for the characters that occur in words, from 1 on; the letters of ASCII have one for both cases. */
export function collectSymbols(words: readonly Word[]): { symbols: Uint16Array; count: number } {
  let highest = 0x7f
  for (const { text } of words)
    for (let at = 0; at < text.length; at++) highest = Math.max(highest, text.charCodeAt(at))
  const symbols = new Uint16Array(highest + 1)
  let count = 1
  for (const { text } of words) {
    for (let at = 0; at < text.length; at++) {
      const code = lowerCase(text.charCodeAt(at))
      if (symbols[code] === 0) symbols[code] = count++
    }
  }
  for (let code = 0x41; code <= 0x5a; code++) symbols[code] = symbols[lowerCase(code)]!
  return { symbols, count }
}

function lowerCase(code: number): number {
  return code >= 0x41 && code <= 0x5a ? code + 0x20 : code
}

export function buildTrie(words: readonly Word[], symbols: Uint16Array): Trie {
  const most = 1 + words.reduce((sum, { text }) => sum + text.length, 0)
  const trie = emptyTrie(most)
  const { symbol, child, sibling, depth, isWord, exact, mayWrap } = trie
  trie.size = 1
  for (const { text, isExact, mayWrap: wraps } of words) {
    let node = 0
    for (let at = 0; at < text.length; at++) {
      if (wraps) mayWrap[node] = 1
      const wanted = symbols[text.charCodeAt(at)]!
      let next = child[node]!
      while (next !== 0 && symbol[next] !== wanted) next = sibling[next]!
      if (next === 0) {
        next = trie.size++
        symbol[next] = wanted
        depth[next] = at + 1
        sibling[next] = child[node]!
        child[node] = next
      }
      node = next
    }
    const others = exact.get(node)
    if (!isExact) exact.delete(node)
    else if (others) others.push(text)
    else if (isWord[node] === 0) exact.set(node, [text])
    isWord[node] = 1
  }
  return byDepth(trie)
}

function emptyTrie(size: number): Trie {
  return {
    size,
    symbol: new Uint16Array(size),
    child: new Int32Array(size),
    sibling: new Int32Array(size),
    depth: new Int32Array(size),
    isWord: new Uint8Array(size),
    exact: new Map(),
    mayWrap: new Uint8Array(size),
  }
}

function byDepth(trie: Trie): Trie {
  const sorted = emptyTrie(trie.size)
  const order = new Int32Array(trie.size)
  for (let to = 0, count = 1; to < trie.size; to++) {
    const from = order[to]!
    sorted.symbol[to] = trie.symbol[from]!
    sorted.depth[to] = trie.depth[from]!
    sorted.isWord[to] = trie.isWord[from]!
    // The root is no prefix that could go on behind a line break.
    sorted.mayWrap[to] = to === 0 ? 0 : trie.mayWrap[from]!
    const exact = trie.exact.get(from)
    if (exact) sorted.exact.set(to, exact)
    let previous = 0
    for (let next = trie.child[from]!; next !== 0; next = trie.sibling[next]!) {
      if (previous === 0) sorted.child[to] = count
      else sorted.sibling[previous] = count
      previous = count
      order[count++] = next
    }
  }
  return sorted
}
