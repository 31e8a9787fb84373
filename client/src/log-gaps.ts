/** A part of a log that is not stored; `offset` counts bytes of UTF-8 from the start of the log. */
export type LogGap = { offset: number; omitted_bytes: number }

/** `… 12.3 MB omitted …` */
export function describeGap(bytes: number): string {
  const [unit, size] =
    bytes >= 1e6 ? ['MB', bytes / 1e6] : bytes >= 1e3 ? ['kB', bytes / 1e3] : ['bytes', bytes]
  return `… ${unit === 'bytes' ? size : size.toFixed(1)} ${unit} omitted …`
}

/** The text that starts at byte `after` of a log, with a line wherever something is omitted. */
export function markGaps(output: string, gaps: readonly LogGap[], after = 0): string {
  if (gaps.length === 0) return output
  const bytes = new TextEncoder().encode(output)
  const decoder = new TextDecoder()
  let [text, from, omitted] = ['', 0, 0]
  for (const gap of gaps) {
    const upTo = gap.offset - after - omitted
    text += decoder.decode(bytes.subarray(from, upTo))
    text += `${text === '' || text.endsWith('\n') ? '' : '\n'}${describeGap(gap.omitted_bytes)}\n`
    from = upTo
    omitted += gap.omitted_bytes
  }
  return text + decoder.decode(bytes.subarray(from))
}
