import { MAX_COLOR_LENGTH } from '#platform/masking/sanitize.ts'

/**
 * How much of a neutralised text, in characters of JavaScript, fits into so many bytes of UTF-8 without cutting a
 * character or a colour in two.
 */
export function fitting(text: string, mostBytes: number): number {
  let bytes = 0
  let at = 0
  while (at < text.length) {
    const code = text.codePointAt(at)!
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > mostBytes) return beforeOpenColour(text, at)
    at += code < 0x10000 ? 1 : 2
  }
  return at
}

function beforeOpenColour(text: string, at: number): number {
  const from = Math.max(0, at - MAX_COLOR_LENGTH)
  const open = /\x1b\[?[0-9;:]*$/.exec(text.slice(from, at))
  return open ? from + open.index : at
}
