import { fitting } from './cut-text.ts'

export const MOST_STEP_BYTES = 10 * 2 ** 20

/** What of a text is kept, and, the one time that something is not, the line that says so. */
export type Capped = { kept: string; notice: string | null }

/**
 * Keeps so many bytes (of UTF-8) of a text that comes in pieces, and nothing more. `keptBytes` were kept before
 * the first of them.
 */
export function createCap(maxBytes: number, keptBytes = 0): (text: string) => Capped {
  let room = maxBytes - keptBytes
  let cut = false
  return (text) => {
    if (cut || text === '') return { kept: '', notice: null }
    const bytes = Buffer.byteLength(text)
    if (bytes <= room) {
      room -= bytes
      return { kept: text, notice: null }
    }
    cut = true
    return {
      kept: text.slice(0, fitting(text, room)),
      notice: `[output cut: ${inWords(maxBytes)} are kept per step]`,
    }
  }
}

function inWords(bytes: number): string {
  if (bytes % 2 ** 20 === 0) return `${bytes / 2 ** 20} MiB`
  return bytes % 2 ** 10 === 0 ? `${bytes / 2 ** 10} KiB` : `${bytes} bytes`
}
