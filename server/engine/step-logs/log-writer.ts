// The step-logs room writes what the steps of a run print: sanitized, without secrets, capped, and stored in
// chunks. views/logs and views/streams read it.

import type { Masker } from '#platform/masking/mask-stream.ts'
import { createSanitizer, MAX_COLOR_LENGTH, sanitizeText } from '#platform/masking/sanitize.ts'

const MAX_STEP_BYTES = 10 * 2 ** 20

/** A part of a step's log. Offsets count bytes of UTF-8 from the start of the log. */
export type LogChunk = { startOffset: number; text: string; bytes: number }

export type LogWriterOptions = {
  /**
   * Called with one chunk at a time. It retries on its own while the database is unreachable. Once it rejects, the log has
   * failed: every later call rejects with the same error.
   */
  store(chunk: LogChunk): Promise<void>
  newMasker: () => Masker
  /** Where this attempt continues the step's log; what came before counts against `maxBytes`. */
  startOffset?: number
  maxBytes?: number
  flushMs?: number
  flushBytes?: number
}

/** Any character and any color sequence fits into that. */
const MIN_CHUNK_BYTES = 256

/**
 * Takes what one attempt at a step prints. Calls are processed in order.
 *
 * One writer reads one stream of bytes: merge a command's stdout and stderr before, or one of them would split
 * characters and secrets of the other.
 */
export function createLogWriter(options: LogWriterOptions) {
  const { store, newMasker, startOffset = 0, maxBytes = MAX_STEP_BYTES, flushMs = 100 } = options
  const flushBytes = Math.max(options.flushBytes ?? 64 * 1024, MIN_CHUNK_BYTES)
  const [sanitizer, masker, cap] = [createSanitizer(), newMasker(), createCap(maxBytes, startOffset)]

  /** Not handed to `store` yet. */
  let pending = ''
  let pendingBytes = 0
  /** How much of it must be stored now. */
  let dueBytes = 0
  let offset = startOffset
  let cut = false
  /** An earlier attempt may have been interrupted in the middle of a line. */
  let atLineStart = startOffset === 0
  let timer: NodeJS.Timeout | undefined
  let storing: Promise<void> | undefined
  let failure: { error: unknown } | undefined
  let closed = false

  function append(text: string): void {
    if (text === '') return
    pending += text
    pendingBytes += Buffer.byteLength(text)
    atLineStart = text.endsWith('\n')
    if (pendingBytes >= flushBytes) startStoring()
    else timer ??= setTimeout(startStoring, flushMs)
  }

  function appendLine(text: string): void {
    append(`${atLineStart ? '' : '\n'}${text}\n`)
  }

  function appendOutput(text: string): void {
    const { kept, notice } = cap(text)
    append(kept)
    if (notice === null) return
    appendLine(notice)
    cut = true
  }

  function startStoring(): void {
    clearTimeout(timer)
    timer = undefined
    dueBytes = pendingBytes
    if (dueBytes > 0 && !storing && !failure) storing = storeDue()
  }

  /** Never rejects: writers get the failure. */
  async function storeDue(): Promise<void> {
    try {
      while (dueBytes > 0) await storeNext()
    } catch (error) {
      failure = { error }
      pending = ''
      pendingBytes = 0
    }
    // In the same tick as the end of the loop: what becomes due afterward needs a new one.
    storing = undefined
  }

  async function storeNext(): Promise<void> {
    const text = pending.slice(0, fittingLength(pending, flushBytes))
    const bytes = Buffer.byteLength(text)
    pending = pending.slice(text.length)
    pendingBytes -= bytes
    dueBytes -= bytes
    await store({ startOffset: offset, text, bytes })
    offset += bytes
  }

  function assertOpen(): void {
    if (failure) throw failure.error
    if (closed) throw new Error('This log is closed')
  }

  async function drain(): Promise<void> {
    while (pendingBytes >= flushBytes && !failure) {
      startStoring()
      await storing
    }
    if (failure) throw failure.error
  }

  return {
    /**
     * Resolves as soon as there is room for more. Awaiting it before reading on keeps memory bounded while the
     * database is away: the command then blocks on its full pipe.
     */
    async write(bytes: Uint8Array): Promise<void> {
      assertOpen()
      if (!cut) appendOutput(masker.push(sanitizer.push(bytes)))
      await drain()
    },
    /**
     * A line from Gantry, even when the step's output is capped. Output that is held back as the possible start of a
     * secret comes after it.
     */
    async line(text: string): Promise<void> {
      assertOpen()
      const lineMasker = newMasker()
      appendLine(lineMasker.push(sanitizeText(text)) + lineMasker.flush())
      await drain()
    },
    /** Resolves when everything is stored. Nothing can be written afterward. */
    async close(): Promise<void> {
      assertOpen()
      closed = true
      if (!cut) appendOutput(masker.push(sanitizer.flush()) + masker.flush())
      startStoring()
      await storing
      if (failure) throw failure.error
    },
  }
}

/**
 * Keeps at most this many bytes (of UTF-8) of a text that comes in pieces; `keptBytes` were kept before. Returns what is
 * kept and, the one time that something is dropped, the line that says so.
 */
export function createCap(
  maxBytes: number,
  keptBytes = 0,
): (text: string) => { kept: string; notice: string | null } {
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
 * How many JavaScript characters of a sanitized text fit into a number of bytes of UTF-8 without splitting a
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
