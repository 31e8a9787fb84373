import { MAX_COLOR_LENGTH } from '#platform/masking/sanitize.ts'

export const MAX_STEP_BYTES = 10 * 2 ** 20

/** What of a text is kept and, the one time that something is dropped, the line that says so. */
export type Capped = { kept: string; notice: string | null }

/** Keeps at most so many bytes (of UTF-8) of a text that comes in pieces; `keptBytes` were kept before. */
export function createCap(maxBytes: number, keptBytes = 0): (text: string) => Capped {
  let left = maxBytes - keptBytes
  let cut = false
  return (text) => {
    if (cut || text === '') return { kept: '', notice: null }
    const bytes = Buffer.byteLength(text)
    if (bytes <= left) {
      left -= bytes
      return { kept: text, notice: null }
    }
    cut = true
    const notice = `[output truncated: the limit is ${formatBytes(maxBytes)} per step]`
    return { kept: text.slice(0, fittingLength(text, left)), notice }
  }
}

function formatBytes(bytes: number): string {
  if (bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  return bytes % 2 ** 10 === 0 ? `${bytes / 2 ** 10} KiB` : `${bytes} bytes`
}

/**
 * How many JavaScript characters of a sanitized text fit into so many bytes of UTF-8 without splitting a
 * character or a color sequence.
 */
export function fittingLength(text: string, maxBytes: number): number {
  let bytes = 0
  let at = 0
  while (at < text.length) {
    const code = text.codePointAt(at)!
    bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4
    if (bytes > maxBytes) return beforeOpenColor(text, at)
    at += code < 0x10000 ? 1 : 2
  }
  return at
}

function beforeOpenColor(text: string, at: number): number {
  const from = Math.max(0, at - MAX_COLOR_LENGTH)
  const open = /\x1b\[?[0-9;:]*$/.exec(text.slice(from, at))
  return open ? from + open.index : at
}
