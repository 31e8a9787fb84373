// The step-logs room writes what the steps of a run print: sanitized, without secrets, capped, and stored in
// chunks. views/logs and views/streams read it.

import { createMaskers } from '#platform/masking/mask-stream.ts'
import { createSanitizer, sanitizeText } from '#platform/masking/sanitize.ts'
import { createCap, fittingLength, MAX_STEP_BYTES } from './cap.ts'

/** A part of a step's log. Offsets count bytes of UTF-8 from the start of the log. */
export type LogChunk = { startOffset: number; text: string; bytes: number }

/**
 * Takes what one attempt at a step prints. Calls are processed in order.
 *
 * One writer reads one stream of bytes: merge a command's stdout and stderr before, or one of them would split
 * characters and secrets of the other.
 */
export type LogWriter = {
  /**
   * Resolves as soon as there is room for more. Awaiting it before reading on keeps memory bounded while the
   * database is away: the command then blocks on its full pipe.
   */
  write(bytes: Uint8Array): Promise<void>
  /**
   * A line from Gantry, even when the step's output is capped. Output that is held back as the possible start of a
   * secret comes after it.
   */
  line(text: string): Promise<void>
  /** Resolves when everything is stored. Nothing can be written afterwards. */
  close(): Promise<void>
}

export type LogWriterOptions = {
  /**
   * Called with one chunk at a time. It retries by itself while the database is away. Once it rejects, the log has
   * failed: every later call rejects with the same error.
   */
  store(chunk: LogChunk): Promise<void>
  secrets: readonly string[]
  /** Where this attempt continues the step's log; what came before counts against `maxBytes`. */
  startOffset?: number
  maxBytes?: number
  flushMs?: number
  flushBytes?: number
}

/** Any character and any color sequence fits into that. */
const MIN_CHUNK_BYTES = 256

export function createLogWriter(options: LogWriterOptions): LogWriter {
  const { store, secrets, startOffset = 0, maxBytes = MAX_STEP_BYTES, flushMs = 100 } = options
  const flushBytes = Math.max(options.flushBytes ?? 64 * 1024, MIN_CHUNK_BYTES)
  const newMasker = createMaskers(secrets)
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
    // In the same tick as the end of the loop: what becomes due afterwards needs a new one.
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
    async write(bytes) {
      assertOpen()
      if (!cut) appendOutput(masker.push(sanitizer.push(bytes)))
      await drain()
    },
    async line(text) {
      assertOpen()
      const lineMasker = newMasker()
      appendLine(lineMasker.push(sanitizeText(text)) + lineMasker.flush())
      await drain()
    },
    async close() {
      assertOpen()
      closed = true
      if (!cut) appendOutput(masker.push(sanitizer.flush()) + masker.flush())
      startStoring()
      await storing
      if (failure) throw failure.error
    },
  }
}
