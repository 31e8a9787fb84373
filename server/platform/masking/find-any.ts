/**
 * Finds all occurrences of many words (none of them empty) in a stream of text in one pass, however many words there
 * are and however they overlap (Aho–Corasick). A state is the longest suffix of the text so far that is a prefix of a
 * word; state 0 is the empty one.
 */
export type Finder = {
  /** Reads `text` from `from` on; calls `found` with the longest word that ends at each position, if any. */
  scan(text: string, from: number, state: number, found: (start: number, end: number) => void): number
  /** How many of the last characters could be the beginning of a word. */
  depth(state: number): number
}

export function createFinder(words: readonly string[]): Finder {
  const size = 1 + words.reduce((sum, word) => sum + word.length, 0)
  const code = new Uint16Array(size)
  const child = new Int32Array(size)
  const sibling = new Int32Array(size)
  const fallback = new Int32Array(size)
  const depth = new Int32Array(size)
  /** The length of the longest word that ends in a state; 0 for none. */
  const longest = new Int32Array(size)
  /** The children of state 0, by character: most of a text stays there. */
  const first = new Int32Array(1 + words.reduce((most, word) => Math.max(most, word.charCodeAt(0)), 0))

  function childOf(state: number, wanted: number): number {
    if (state === 0) return wanted < first.length ? first[wanted]! : 0
    let next = child[state]!
    while (next !== 0 && code[next] !== wanted) next = sibling[next]!
    return next
  }

  function nextOf(state: number, wanted: number): number {
    for (let at = state; ; at = fallback[at]!) {
      const next = childOf(at, wanted)
      if (next !== 0 || at === 0) return next
    }
  }

  let states = 1
  for (const word of words) {
    let state = 0
    for (let at = 0; at < word.length; at++) {
      const wanted = word.charCodeAt(at)
      let next = childOf(state, wanted)
      if (next === 0) {
        next = states++
        code[next] = wanted
        depth[next] = at + 1
        if (state === 0) first[wanted] = next
        sibling[next] = child[state]!
        child[state] = next
      }
      state = next
    }
    longest[state] = word.length
  }

  // By depth, because a state falls back to a shallower one.
  const queue = new Int32Array(states)
  for (let head = 0, tail = 1; head < tail; head++) {
    const state = queue[head]!
    for (let next = child[state]!; next !== 0; next = sibling[next]!) {
      queue[tail++] = next
      if (state !== 0) fallback[next] = nextOf(fallback[state]!, code[next]!)
      if (longest[next] === 0) longest[next] = longest[fallback[next]!]!
    }
  }

  return {
    scan(text, from, start, found) {
      let state = start
      for (let at = from; at < text.length; at++) {
        state = nextOf(state, text.charCodeAt(at))
        if (longest[state] !== 0) found(at + 1 - longest[state]!, at + 1)
      }
      return state
    },
    depth: (state) => depth[state]!,
  }
}
