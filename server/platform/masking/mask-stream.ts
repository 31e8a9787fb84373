import { createFinder, type Finder } from './find-any.ts'
import { MASK } from './masked.ts'
import { COLORS } from './sanitize.ts'
import { formsOf } from './secret-forms.ts'

/**
 * Masks secrets in a stream of text, even when a secret is split between two chunks: what could be the beginning of
 * one is held back, and nothing else. Overlapping occurrences share one mask. The last chunk needs a `flush`.
 *
 * Its input must be sanitized first. In the other order, a secret that is interrupted by control sequences would pass
 * here, and become whole once the sequences are removed. Colors are still present and are ignored for matching: those
 * inside a secret (a search that highlights its hits) move after the mask.
 *
 * This protects against accidents. A command that wants to reveal a secret can always encode it in an unforeseen way.
 */
export type Masker = { push(text: string): string; flush(): string }

/** A bound for output that is nothing but colors while something is held back. */
const MAX_HELD_COLORS = 256

/** For several streams with the same secrets: the preparation is shared. */
export function createMaskers(secrets: readonly string[]): () => Masker {
  const forms = formsOf(secrets)
  const finder = createFinder(forms)
  return forms.length === 0 ? () => ({ push: (text) => text, flush: () => '' }) : () => maskWith(finder)
}

type Run = { start: number; end: number }
type Color = { at: number; sequence: string }

function maskWith(finder: Finder): Masker {
  /** Text without its colors. Emitted text is cut off, and all positions are relative to what is left. */
  let text = ''
  let colors: Color[] = []
  let state = 0
  /** Where the secrets are, in order and without overlaps. */
  let runs: Run[] = []
  /** Up to here the text is emitted or masked. */
  let emitted = 0

  function read(chunk: string): void {
    const before = text.length
    let from = 0
    for (const { 0: sequence, index } of chunk.matchAll(COLORS)) {
      text += chunk.slice(from, index)
      colors.push({ at: text.length, sequence })
      from = index + sequence.length
    }
    text += chunk.slice(from)
    state = finder.scan(text, before, state, (start, end) => {
      let first = start
      while (runs.length > 0 && runs.at(-1)!.end > start) first = Math.min(first, runs.pop()!.start)
      runs.push({ start: first, end })
    })
  }

  /** No later match begins before `limit`. */
  function emitUntil(limit: number): string {
    let output = ''
    let nextColor = 0
    const emit = (until: number) => {
      for (; nextColor < colors.length && colors[nextColor]!.at <= until; nextColor++) {
        const { at, sequence } = colors[nextColor]!
        output += text.slice(emitted, Math.max(emitted, at)) + sequence
        emitted = Math.max(emitted, at)
      }
      output += text.slice(emitted, until)
      emitted = until
    }
    const decided = runs.filter((run) => run.start < limit)
    for (const { start, end } of decided) {
      if (start >= emitted) {
        emit(start)
        output += MASK
      }
      emitted = Math.max(emitted, end)
    }
    if (emitted <= limit) emit(limit)

    text = text.slice(limit)
    emitted -= limit
    runs = runs.slice(decided.length).map(({ start, end }) => ({ start: start - limit, end: end - limit }))
    colors = colors
      .slice(nextColor, nextColor + MAX_HELD_COLORS)
      .map(({ at, sequence }) => ({ at: at - limit, sequence }))
    return output
  }

  return {
    push(chunk) {
      read(chunk)
      return emitUntil(text.length - finder.depth(state))
    },
    flush() {
      state = 0
      return emitUntil(text.length)
    },
  }
}
