// A log as lines that can be drawn from anywhere. It grows at the end; ten megabytes of it stay cheap, because a
// line is only text until it is looked at.
import { PLAIN, readLine, type Style, withoutColours } from './ansi.ts'

/** A line longer than this is broken: one element with a megabyte of text would stop the page. */
const LONGEST = 2_000

export type LogLines = {
  count(): number
  line(index: number): { text: string; style: Style }
  append(text: string): void
  /** In bytes of UTF-8, as the API counts. */
  size(): number
  whole(): string
  /** Indexes of the lines that contain the words, whatever their case. */
  find(words: string): number[]
}

export function createLogLines(): LogLines {
  const lines: string[] = []
  const styles: Style[] = []
  const chunks: string[] = []
  const encoder = new TextEncoder()
  let bytes = 0
  let style = PLAIN
  /** The last line, as long as its end has not come. */
  let open = ''

  function close(text: string): void {
    for (let from = 0; from === 0 || from < text.length; from += LONGEST) {
      const part = text.slice(from, from + LONGEST)
      lines.push(part)
      styles.push(style)
      if (part.includes('\x1b')) style = readLine(part, style).next
    }
  }

  return {
    count: () => lines.length + (open === '' ? 0 : 1),
    line: (index) =>
      index < lines.length
        ? { text: lines[index]!, style: styles[index]! }
        : { text: open.slice(0, LONGEST), style },
    append(text) {
      chunks.push(text)
      bytes += encoder.encode(text).length
      const parts = (open + text).split('\n')
      open = parts.pop()!
      for (const part of parts) close(part)
    },
    size: () => bytes,
    whole: () => chunks.join(''),
    find(words) {
      const wanted = words.toLowerCase()
      if (wanted === '') return []
      const found: number[] = []
      for (let index = 0; index < lines.length; index++)
        if (withoutColours(lines[index]!).toLowerCase().includes(wanted)) found.push(index)
      if (withoutColours(open).toLowerCase().includes(wanted)) found.push(lines.length)
      return found
    },
  }
}
