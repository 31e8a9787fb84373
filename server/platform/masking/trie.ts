export type Trie = ReturnType<typeof buildTrie>

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

/**
 * Words as a tree of prefixes. Nodes are numbered by depth, because words are added letter by letter; 0 is the root, and
 * no node is the child of a later one.
 */
export function buildTrie(words: readonly Word[], symbols: Uint16Array) {
  const most = 1 + words.reduce((sum, { text }) => sum + text.length, 0)
  const symbol = new Uint16Array(most)
  /** The first child; the others are its siblings. */
  const child = new Int32Array(most)
  const sibling = new Int32Array(most)
  const depth = new Int32Array(most)
  /** Whether a word ends here. */
  const isWord = new Uint8Array(most)
  /** Where all words that end here are exact: their texts. */
  const exact = new Map<number, string[]>()
  /** Whether a line break may follow, inside a word. */
  const mayWrap = new Uint8Array(most)
  let size = 1
  let unfinished = words.map(({ text, isExact, mayWrap: wraps }) => ({ text, isExact, wraps, node: 0 }))
  for (let at = 0; unfinished.length > 0; at++) {
    for (const word of unfinished) {
      const { text, node } = word
      // The root is no prefix that could go on behind a line break.
      if (word.wraps && node !== 0) mayWrap[node] = 1
      const wanted = symbols[text.charCodeAt(at)]!
      let next = child[node]!
      while (next !== 0 && symbol[next] !== wanted) next = sibling[next]!
      if (next === 0) {
        next = size++
        symbol[next] = wanted
        depth[next] = at + 1
        sibling[next] = child[node]!
        child[node] = next
      }
      word.node = next
      if (at + 1 === text.length) endWord(word)
    }
    unfinished = unfinished.filter(({ text }) => text.length > at + 1)
  }
  return { size, symbol, child, sibling, depth, isWord, exact, mayWrap }

  function endWord({ text, isExact, node }: (typeof unfinished)[number]): void {
    const others = exact.get(node)
    if (!isExact) exact.delete(node)
    else if (others) others.push(text)
    else if (isWord[node] === 0) exact.set(node, [text])
    isWord[node] = 1
  }
}
