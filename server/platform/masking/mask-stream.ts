import { type Cursor, createFinder, type Finder } from './find-any.ts'
import { MASK } from './masked.ts'
import { COLORS } from './sanitize.ts'
import { formsOf } from './secret-forms.ts'

/**
 * Masks secrets in a stream of text, even when a secret is split between two chunks: what could be the beginning of
 * one is held back, and nothing else. Overlapping occurrences share one mask. The last chunk needs a `flush`.
 *
 * Its input must be sanitized first. In the other order, a secret that is interrupted by control sequences would pass
 * here, and become whole once the sequences are removed. Colors are still present and are ignored for matching: those
 * inside a secret (a search that highlights its hits) move after the mask. Line breaks inside an encoded secret stay,
 * with a mask on each line.
 *
 * This protects against accidents. A command that wants to reveal a secret can always encode it in an unforeseen way.
 */
export type Masker = {
  push(text: string): string
  flush(): string
  /** Whether something is held back. */
  isHolding(): boolean
}

/** A bound for output that is nothing but colors while something is held back. */
const MAX_HELD_COLORS = 256

/** For several streams with the same secrets: the preparation is shared. */
export function createMaskers(secrets: readonly string[]): () => Masker {
  const forms = formsOf(secrets)
  const finder = createFinder(forms)
  return forms.length === 0
    ? () => ({ push: (text) => text, flush: () => '', isHolding: () => false })
    : () => createMasker(finder)
}

type Run = { start: number; end: number }
/** What is ignored for matching: a color, or a line break. */
type Gap = { at: number; text: string }

export function createMasker(finder: Finder): Masker {
  /** Text without its gaps. Emitted text is cut off, and all positions are relative to what is left. */
  let text = ''
  let gaps: Gap[] = []
  const cursor: Cursor = { state: 0, column: 0, hasSpace: false }
  /** Where the secrets are, in order and without overlaps. */
  let runs: Run[] = []
  /** Up to here the text is emitted or masked. */
  let emitted = 0

  function read(chunk: string): void {
    let from = 0
    for (const { 0: sequence, index } of chunk.matchAll(COLORS)) {
      readPlain(chunk.slice(from, index))
      gaps.push({ at: text.length, text: sequence })
      from = index + sequence.length
    }
    readPlain(from === 0 ? chunk : chunk.slice(from))
  }

  function readPlain(piece: string): void {
    for (let from = 0; from < piece.length; ) {
      const before = text
      const stop = finder.scan(piece, from, cursor, (end, length, exact) => {
        if (exact && !exact.includes((before + piece.slice(from, end)).slice(-length))) return false
        addRun(before.length + end - from - length, before.length + end - from)
        return true
      })
      text += piece.slice(from, stop)
      if (stop < piece.length) gaps.push({ at: text.length, text: piece[stop]! })
      from = stop + 1
    }
  }

  function addRun(start: number, end: number): void {
    let first = start
    while (runs.length > 0 && runs.at(-1)!.end > start) first = Math.min(first, runs.pop()!.start)
    runs.push({ start: first, end })
  }

  /** No later match begins before `limit`. */
  function emitUntil(limit: number): string {
    let output = ''
    let nextGap = 0
    const emit = (until: number) => {
      for (; nextGap < gaps.length && gaps[nextGap]!.at <= until; nextGap++) {
        const gap = gaps[nextGap]!
        output += text.slice(emitted, Math.max(emitted, gap.at)) + gap.text
        emitted = Math.max(emitted, gap.at)
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
      for (; nextGap < gaps.length && gaps[nextGap]!.at < end; nextGap++) {
        const gap = gaps[nextGap]!.text
        output += gap === '\n' ? gap + MASK : gap
      }
      emitted = Math.max(emitted, end)
    }
    if (emitted <= limit) emit(limit)

    text = text.slice(limit)
    emitted -= limit
    runs = runs.slice(decided.length).map(({ start, end }) => ({ start: start - limit, end: end - limit }))
    gaps = gaps.slice(nextGap, nextGap + MAX_HELD_COLORS).map(({ at, text }) => ({ at: at - limit, text }))
    return output
  }

  return {
    push(chunk) {
      read(chunk)
      return emitUntil(text.length - finder.depth(cursor))
    },
    flush() {
      cursor.state = 0
      return emitUntil(text.length)
    },
    isHolding: () => finder.depth(cursor) > 0,
  }
}
