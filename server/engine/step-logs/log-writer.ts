// The step logs room: what the steps of a run print, made harmless, without secrets, kept, and shown.

import { createMaskers } from '#platform/masking/mask-stream.ts'
import { createSanitizer, sanitizeText } from '#platform/masking/sanitize.ts'
import { createCap, MOST_STEP_BYTES } from './cap.ts'
import { fitting } from './cut-text.ts'

/** A part of a step's log. Offsets count bytes of UTF-8 from the beginning of the log. */
export type LogChunk = { startOffset: number; text: string; bytes: number }

/**
 * Takes what one attempt at a step prints. Calls are taken in the order in which they are made.
 *
 * One writer reads one stream of bytes: a command's stdout and stderr must be joined before, or a character and
 * a secret that one of them cuts would be torn apart by the other.
 */
export type LogWriter = {
  /**
   * Resolves as soon as there is room for more. Whoever waits for it before reading on keeps the memory bounded
   * while the database is away: the command then waits too, on its full pipe.
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * Gantry's own words, on lines of their own, also when the step may keep no more. What the command printed and
   * is held back as the possible beginning of a secret comes after them.
   */
  line(text: string): Promise<void>
  /** Resolves when everything is stored. Nothing can be written afterwards. */
  close(): Promise<void>
}

export type LogWriterOptions = {
  /**
   * Called with one chunk after the other, never with two at a time. It tries again by itself while the database
   * is away. When it rejects, the log is given up: every call from then on rejects with the same error.
   */
  store(chunk: LogChunk): Promise<void>
  secrets: readonly string[]
  /** Where this attempt goes on in the step's log; what came before counts against `maxBytes`. */
  startOffset?: number
  maxBytes?: number
  flushMs?: number
  flushBytes?: number
}

/** Any character and any colour fits into that. */
const SMALLEST_CHUNK = 256

export function createLogWriter(options: LogWriterOptions): LogWriter {
  const { store, secrets, startOffset = 0, maxBytes = MOST_STEP_BYTES, flushMs = 100 } = options
  const flushBytes = Math.max(options.flushBytes ?? 64 * 1024, SMALLEST_CHUNK)
  const newMasker = createMaskers(secrets)
  const [neutraliser, masker, cap] = [createSanitizer(), newMasker(), createCap(maxBytes, startOffset)]

  /** Kept, and not handed to `store` yet. */
  let waiting = ''
  let waitingBytes = 0
  /** How much of it must not wait any longer. */
  let dueBytes = 0
  let offset = startOffset
  let cut = false
  /** An earlier attempt may have been lost in the middle of a line. */
  let atLineStart = startOffset === 0
  let timer: NodeJS.Timeout | undefined
  let storing: Promise<void> | undefined
  let failure: { error: unknown } | undefined
  let closed = false

  function keep(text: string): void {
    if (text === '') return
    waiting += text
    waitingBytes += Buffer.byteLength(text)
    atLineStart = text.endsWith('\n')
    if (waitingBytes >= flushBytes) startStoring()
    else timer ??= setTimeout(startStoring, flushMs)
  }

  function keepLine(text: string): void {
    keep(`${atLineStart ? '' : '\n'}${text}\n`)
  }

  function keepOutput(text: string): void {
    const { kept, notice } = cap(text)
    keep(kept)
    if (notice === null) return
    keepLine(notice)
    cut = true
  }

  function startStoring(): void {
    clearTimeout(timer)
    timer = undefined
    dueBytes = waitingBytes
    if (dueBytes > 0 && !storing && !failure) storing = storeDue()
  }

  /** Never rejects: whoever writes learns of a failure. */
  async function storeDue(): Promise<void> {
    try {
      while (dueBytes > 0) await storeNext()
    } catch (error) {
      failure = { error }
      waiting = ''
      waitingBytes = 0
    }
    // In the same turn as the end of the loop: what becomes due afterwards needs a new one.
    storing = undefined
  }

  async function storeNext(): Promise<void> {
    const text = waiting.slice(0, fitting(waiting, flushBytes))
    const bytes = Buffer.byteLength(text)
    waiting = waiting.slice(text.length)
    waitingBytes -= bytes
    dueBytes -= bytes
    await store({ startOffset: offset, text, bytes })
    offset += bytes
  }

  function assertOpen(): void {
    if (failure) throw failure.error
    if (closed) throw new Error('This log is closed')
  }

  async function room(): Promise<void> {
    while (waitingBytes >= flushBytes && !failure) {
      startStoring()
      await storing
    }
    if (failure) throw failure.error
  }

  return {
    async write(bytes) {
      assertOpen()
      if (!cut) keepOutput(masker.push(neutraliser.push(bytes)))
      await room()
    },
    async line(text) {
      assertOpen()
      const own = newMasker()
      keepLine(own.push(sanitizeText(text)) + own.flush())
      await room()
    },
    async close() {
      assertOpen()
      closed = true
      if (!cut) keepOutput(masker.push(neutraliser.flush()) + masker.flush())
      startStoring()
      await storing
      if (failure) throw failure.error
    },
  }
}
