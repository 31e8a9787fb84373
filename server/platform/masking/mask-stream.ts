import { createFinder, type Finder } from './find-any.ts'
import { MASK } from './masked.ts'
import { COLORS } from './sanitize.ts'
import { formsOf } from './secret-forms.ts'

/**
 * Puts stars in the place of secrets in a text that comes in pieces, also where a secret is cut between two of
 * them: what could be the beginning of one is held back, and nothing else. Occurrences that overlap are covered
 * together, by one row of stars. The last piece of a text needs a `flush`.
 *
 * It is meant to be given what `neutralise` lets through. That way round, because a secret that is interrupted
 * by control sequences would pass here, and come out whole once the sequences are gone. Colours are still there,
 * and are looked through: those inside a secret (a search that highlights its hits) move behind the stars.
 *
 * This guards against accidents. A command that wants to give a secret away can always write it in a way that
 * nobody foresees.
 */
export type Masker = { push(text: string): string; flush(): string }

/** A bound for output that is nothing but colours while something is held back. */
const MOST_HELD_COLOURS = 256

export function createMasker(secrets: readonly string[]): Masker {
  return createMaskers(secrets)()
}

/** For several texts with the same secrets: the preparation is shared. */
export function createMaskers(secrets: readonly string[]): () => Masker {
  const forms = formsOf(secrets)
  const finder = createFinder(forms)
  return forms.length === 0 ? () => ({ push: (text) => text, flush: () => '' }) : () => maskWith(finder)
}

type Run = { start: number; end: number }
type Colour = { at: number; sequence: string }

function maskWith(finder: Finder): Masker {
  /** Text without its colours. What was shown is cut off in front, and all places count from what is left. */
  let text = ''
  let colours: Colour[] = []
  let state = 0
  /** Where the secrets are, in order and without overlaps. */
  let runs: Run[] = []
  /** Up to here the text is shown, or under stars that are. */
  let shown = 0

  function read(piece: string): void {
    const before = text.length
    let from = 0
    for (const { 0: sequence, index } of piece.matchAll(COLORS)) {
      text += piece.slice(from, index)
      colours.push({ at: text.length, sequence })
      from = index + sequence.length
    }
    text += piece.slice(from)
    state = finder.scan(text, before, state, (start, end) => {
      let first = start
      while (runs.length > 0 && runs.at(-1)!.end > start) first = Math.min(first, runs.pop()!.start)
      runs.push({ start: first, end })
    })
  }

  /** Nothing that will be found later begins before `limit`. */
  function showUntil(limit: number): string {
    let output = ''
    let nextColour = 0
    const show = (until: number) => {
      for (; nextColour < colours.length && colours[nextColour]!.at <= until; nextColour++) {
        const { at, sequence } = colours[nextColour]!
        output += text.slice(shown, Math.max(shown, at)) + sequence
        shown = Math.max(shown, at)
      }
      output += text.slice(shown, until)
      shown = until
    }
    const decided = runs.filter((run) => run.start < limit)
    for (const { start, end } of decided) {
      if (start >= shown) {
        show(start)
        output += MASK
      }
      shown = Math.max(shown, end)
    }
    if (shown <= limit) show(limit)

    text = text.slice(limit)
    shown -= limit
    runs = runs.slice(decided.length).map(({ start, end }) => ({ start: start - limit, end: end - limit }))
    colours = colours
      .slice(nextColour, nextColour + MOST_HELD_COLOURS)
      .map(({ at, sequence }) => ({ at: at - limit, sequence }))
    return output
  }

  return {
    push(piece) {
      read(piece)
      return showUntil(text.length - finder.depth(state))
    },
    flush() {
      state = 0
      return showUntil(text.length)
    },
  }
}
