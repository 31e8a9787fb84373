/**
 * Where the output of a command continues behind a text: at the byte `offset`, whose text begins with `skip` bytes that are
 * in the text already. Nothing was held back before `offset`, so that reading from there gives the same text again.
 */
export type RawPosition = { offset: number; skip: number }

type Segment = { from: number; upTo: number; before: RawPosition; isOutput: boolean }

/** Pieces of output that are shorter than this together share a segment. */
const SEGMENT_BYTES = 4_096

/**
 * Follows which byte of the raw output each byte of a log comes from. Text is added at the end of the log, in segments, and
 * asked for from its start. Pure.
 */
export function createRawPositions(start: RawPosition) {
  let segments: Segment[] = []
  let current = start

  function add(from: number, upTo: number, isOutput: boolean): void {
    const last = segments.at(-1)
    const isSmall = last && last.upTo === from && upTo - last.from <= SEGMENT_BYTES
    if (isSmall && isOutput && last.isOutput) last.upTo = upTo
    else if (upTo > from) segments.push({ from, upTo, before: current, isOutput })
  }

  return {
    /** Text of the command. */
    output(from: number, upTo: number): void {
      add(from, upTo, true)
      current = { offset: current.offset, skip: current.skip + upTo - from }
    },
    /** A line from Gantry. */
    line: (from: number, upTo: number) => add(from, upTo, false),
    /** Nothing before this byte of the raw output is held back; of its text, so much is still to be skipped. */
    clear(offset: number, skip: number): void {
      current = { offset, skip }
    },
    /** For the log up to here. What is before is forgotten. */
    at(upTo: number): RawPosition {
      const next = segments.findIndex((segment) => segment.upTo > upTo)
      segments = next === -1 ? [] : segments.slice(next)
      const segment = segments[0]
      if (!segment) return current
      const { from, before, isOutput } = segment
      const within = isOutput ? Math.max(0, upTo - from) : 0
      return { offset: before.offset, skip: before.skip + within }
    },
  }
}

export type RawPositions = ReturnType<typeof createRawPositions>
