const INTERVAL_MS = 2_000

/** Prints a line every two seconds, and one at the end. */
export function createRowCounter(name: string, print: (message: string) => void) {
  let rows = 0
  let saidAt = performance.now()
  return {
    /** Passes COPY output through and counts its rows. */
    async *count(chunks: AsyncIterable<Buffer>) {
      for await (const chunk of chunks) {
        rows += countLines(chunk)
        yield chunk
        if (performance.now() - saidAt < INTERVAL_MS) continue
        saidAt = performance.now()
        print(`  ${name}: ${formatRows(rows)} so far`)
      }
      if (rows > 0) print(`  ${name}: ${formatRows(rows)}`)
    },
    rows: () => rows,
  }
}

export function formatRows(rows: number): string {
  return `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`
}

/** COPY writes one row per line, and escapes line breaks inside values. */
function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1
  return lines
}
