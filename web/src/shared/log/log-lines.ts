// A log as lines with random access. It grows at the end; ten megabytes stay cheap, because a line is only text until
// it is rendered.
import { describeGap } from '#client/index.ts'
import { PLAIN, parseLine, type Style, stripColors } from './ansi.ts'

/** Longer lines are split: one element with a megabyte of text would freeze the page. */
const MAX_LINE_LENGTH = 2_000

export type LogLines = ReturnType<typeof createLogLines>

export function createLogLines() {
  const lines: string[] = []
  const styles: Style[] = []
  const chunks: string[] = []
  const encoder = new TextEncoder()
  let bytes = 0
  let style = PLAIN
  /** The last line, until it ends. */
  let open = ''

  function close(text: string): void {
    for (let from = 0; from === 0 || from < text.length; from += MAX_LINE_LENGTH) {
      const part = text.slice(from, from + MAX_LINE_LENGTH)
      lines.push(part)
      styles.push(style)
      if (part.includes('\x1b')) style = parseLine(part, style).next
    }
  }

  return {
    count: () => lines.length + (open === '' ? 0 : 1),
    line: (index: number): { text: string; style: Style } =>
      index < lines.length
        ? { text: lines[index]!, style: styles[index]! }
        : { text: open.slice(0, MAX_LINE_LENGTH), style },
    append(text: string): void {
      chunks.push(text)
      bytes += encoder.encode(text).length
      const parts = (open + text).split('\n')
      open = parts.pop()!
      for (const part of parts) close(part)
    },
    /** Continues behind a part that is not stored, of which a line tells. */
    omit(omittedBytes: number): void {
      const line = `${open === '' ? '' : '\n'}${describeGap(omittedBytes)}\n`
      this.append(line)
      bytes += omittedBytes - encoder.encode(line).length
    },
    /** In bytes of UTF-8, as the API counts: printed ones. */
    size: () => bytes,
    text: () => chunks.join(''),
    /** Indexes of the lines that contain this, in any case. */
    find(query: string): number[] {
      const wanted = query.toLowerCase()
      if (wanted === '') return []
      const found: number[] = []
      for (let index = 0; index < lines.length; index++)
        if (stripColors(lines[index]!).toLowerCase().includes(wanted)) found.push(index)
      if (stripColors(open).toLowerCase().includes(wanted)) found.push(lines.length)
      return found
    },
  }
}

/** Appends what the API returned from the end of the lines on. */
export function appendWithGaps(
  lines: LogLines,
  { output, gaps }: { output: string; gaps: readonly { offset: number; omitted_bytes: number }[] },
): void {
  // Most logs have none, and need not be taken apart.
  if (gaps.length === 0) {
    lines.append(output)
    return
  }
  const bytes = new TextEncoder().encode(output)
  const decoder = new TextDecoder()
  let from = 0
  for (const gap of gaps) {
    const upTo = from + gap.offset - lines.size()
    lines.append(decoder.decode(bytes.subarray(from, upTo)))
    lines.omit(gap.omitted_bytes)
    from = upTo
  }
  lines.append(decoder.decode(bytes.subarray(from)))
}
