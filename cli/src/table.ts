import { plain, type Screen, type Style } from './screen.ts'

/** One column: its heading, the text of a row, and how it looks. The last columns give way first when it is narrow. */
export type Column<Row> = { title: string; text(row: Row): string; style?(row: Row): Style | undefined }

const GAP = '  '
const MIN_WIDTH = 12

/** On a terminal a table that fits; in a pipe one line per row, tab-separated and complete, without headings. */
export function printTable<Row>(
  screen: Screen,
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  empty: string,
): void {
  if (!screen.isTerminal) {
    for (const row of rows) screen.print(columns.map(({ text }) => oneLine(text(row))).join('\t'))
    return
  }
  if (rows.length === 0) {
    screen.print(empty)
    return
  }
  const cells = rows.map((row) => columns.map(({ text }) => oneLine(text(row))))
  const natural = columns.map(({ title }, n) =>
    Math.max(widthOf(title), ...cells.map((row) => widthOf(row[n]!))),
  )
  const widths = fit(natural, screen.columns)
  const line = (texts: readonly string[], paint: (text: string, n: number) => string) =>
    texts
      .slice(0, widths.length)
      .map((text, n) =>
        paint(n === widths.length - 1 ? cut(text, widths[n]!) : pad(cut(text, widths[n]!), widths[n]!), n),
      )
      .join(GAP)
      .trimEnd()
  screen.print(
    line(
      columns.map(({ title }) => title.toUpperCase()),
      (text) => screen.style('dim', text),
    ),
  )
  rows.forEach((row, index) => {
    const painted = (text: string, n: number) => {
      const style = columns[n]!.style?.(row)
      return style ? screen.style(style, text) : text
    }
    screen.print(line(cells[index]!, painted))
  })
}

/** Widths whose sum fits: the widest column shrinks first, and when that is not enough the last one is dropped. */
export function fit(natural: readonly number[], available: number): number[] {
  const widths = [...natural]
  const excess = () => widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - available
  while (excess() > 0) {
    const widest = widths.lastIndexOf(Math.max(...widths))
    if (widths[widest]! > MIN_WIDTH) widths[widest]! -= 1
    else return widths.length > 1 ? fit(natural.slice(0, -1), available) : widths
  }
  return widths
}

const segmenter = new Intl.Segmenter()
const WIDE =
  /\p{Extended_Pictographic}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]/u

/** How many cells of a terminal a text takes. */
export function widthOf(text: string): number {
  if (/^[\x20-\x7e]*$/.test(text)) return text.length
  let width = 0
  for (const { segment } of segmenter.segment(text)) width += WIDE.test(segment) ? 2 : 1
  return width
}

/** The end of a path says which one it is; of everything else, the beginning. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  const isPath = /^\S+\/\S+$/.test(text)
  const segments = [...segmenter.segment(text)].map(({ segment }) => segment)
  if (isPath) segments.reverse()
  const kept: string[] = []
  let used = 1
  for (const segment of segments) {
    used += widthOf(segment)
    if (used > width) break
    kept.push(segment)
  }
  return isPath ? `…${kept.reverse().join('')}` : `${kept.join('')}…`
}

export function pad(text: string, width: number): string {
  return text + ' '.repeat(Math.max(0, width - widthOf(text)))
}

/** Text of others that must not break a line. */
export function oneLine(text: string): string {
  return plain(text).replaceAll(/\s+/g, ' ').trim()
}
