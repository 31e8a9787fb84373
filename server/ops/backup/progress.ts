export type Progress = {
  /** More rows of what is being worked on. */
  add(rows: number): void
  /** All rows of it are through. */
  end(): void
  rows(): number
}

const EVERY_MS = 2_000

/** One line for each thing when it is done, and one every two seconds while a long one goes on. */
export function createProgress(name: string, say: (message: string) => void): Progress {
  let rows = 0
  let saidAt = performance.now()
  return {
    add(more) {
      rows += more
      if (performance.now() - saidAt < EVERY_MS) return
      saidAt = performance.now()
      say(`  ${name}: ${count(rows)} so far`)
    },
    end() {
      if (rows > 0) say(`  ${name}: ${count(rows)}`)
    },
    rows: () => rows,
  }
}

export function count(rows: number): string {
  return `${rows.toLocaleString('en')} ${rows === 1 ? 'row' : 'rows'}`
}

/** COPY writes a row a line, and line breaks inside of values in another way. */
export function countLines(chunk: Buffer): number {
  let lines = 0
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1
  return lines
}
