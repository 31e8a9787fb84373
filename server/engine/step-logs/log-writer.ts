// The step-logs room writes what the steps of a run print: sanitized, without secrets, and stored in chunks, of which the
// first and the last megabytes are kept. views/logs and views/streams read it.

import type { Masker } from '#platform/masking/mask-stream.ts'
import { createSanitizer, MAX_COLOR_LENGTH, sanitizeText } from '#platform/masking/sanitize.ts'
import { createRawPositions, type RawPosition, type RawPositions } from './raw-positions.ts'

const MIB = 2 ** 20
/** Of the log of a step, this much is kept of its beginning, and this much of its end. */
export const HEAD_BYTES = 5 * MIB
const TAIL_BYTES = 5 * MIB

/**
 * A part of a step's log. Offsets count bytes of UTF-8 from the start of the log, omitted ones included. Chunks between
 * `omit.from` and `omit.upTo` are no longer part of the log once this one is stored.
 */
export type LogChunk = {
  startOffset: number
  text: string
  bytes: number
  omit?: { from: number; upTo: number }
  /** Where the output of a detached step continues behind this chunk. */
  raw?: RawPosition
}

export type LogWriterOptions = {
  /**
   * Called with one chunk at a time. It retries on its own while the database is unreachable. Once it rejects, the log has
   * failed: every later call rejects with the same error.
   */
  store(chunk: LogChunk): Promise<void>
  newMasker: () => Masker
  /** Where this attempt continues the step's log. */
  startOffset?: number
  /** Whether the text before it ends in the middle of a line, as that of an interrupted attempt may. */
  isLineOpen?: boolean
  headBytes?: number
  tailBytes?: number
  flushMs?: number
  flushBytes?: number
}

const LINE_FEED = 0x0a

/** Any character and any color sequence fits into that. */
const MIN_CHUNK_BYTES = 256

/** Beyond the head, output is stored less often: most of a flood of it is never stored at all. */
const TAIL_FLUSH_MS = 1_000
const FLOOD_FLUSH_MS = 5_000

/**
 * Takes what one attempt at a step prints. Calls are processed in order.
 *
 * The head of the log is stored as it comes. What follows waits in memory, where only the last megabytes stay, and is
 * stored every now and then; each time, what was stored before and is no longer among the last megabytes goes.
 *
 * One writer reads one stream of bytes: merge a command's stdout and stderr before, or one of them would split
 * characters and secrets of the other.
 */
export function createLogWriter(options: LogWriterOptions) {
  const { store, newMasker, startOffset = 0, flushMs = 100 } = options
  const { headBytes = HEAD_BYTES, tailBytes = TAIL_BYTES } = options
  const flushBytes = Math.max(options.flushBytes ?? 64 * 1024, MIN_CHUNK_BYTES)
  let [sanitizer, masker] = [createSanitizer(), newMasker()]
  /** Of the output of a detached step, while that is written. */
  let positions: RawPositions | undefined
  let isOutput = false
  let [rawOffset, toSkip] = [0, 0]

  /** Not handed to `store` yet. */
  let pending = ''
  let pendingBytes = 0
  /** How much of it must be stored now. */
  let dueBytes = 0
  /** Where `pending` starts. */
  let offset = startOffset
  /** An earlier attempt may have been interrupted in the middle of a line. */
  let atLineStart = startOffset === 0 || options.isLineOpen === false
  let timer: NodeJS.Timeout | undefined
  let storedAt = Number.NEGATIVE_INFINITY
  let storing: Promise<void> | undefined
  let failure: { error: unknown } | undefined
  let closed = false

  /** The head is stored, or on its way. */
  const isTail = () => offset >= headBytes

  function append(text: string): void {
    if (text === '') return
    pending += text
    pendingBytes += Buffer.byteLength(text)
    atLineStart = text.endsWith('\n')
    if (isTail()) {
      dropExcess()
      timer ??= setTimeout(storeTail, TAIL_FLUSH_MS)
    } else if (pendingBytes >= flushBytes) startStoring()
    else timer ??= setTimeout(startStoring, flushMs)
  }

  const end = () => offset + pendingBytes

  /** Not of the output of a detached step. */
  function appendOther(text: string): void {
    const from = end()
    append(text)
    positions?.line(from, end())
  }

  function appendLine(text: string): void {
    appendOther(`${atLineStart ? '' : '\n'}${text}\n`)
  }

  /** Without what an earlier attempt has stored of it. */
  function appendOutput(text: string): void {
    const from = end()
    if (toSkip === 0) append(text)
    else {
      const bytes = Buffer.from(text)
      append(bytes.toString('utf8', toSkip))
      toSkip = Math.max(0, toSkip - bytes.length)
    }
    positions?.output(from, end())
  }

  /** Behind a line feed the sanitizer holds nothing, and the masker is as at the start unless it holds something. */
  function appendBytes(bytes: Uint8Array): void {
    const lines = bytes.lastIndexOf(LINE_FEED) + 1
    for (const part of [bytes.subarray(0, lines), bytes.subarray(lines)]) {
      if (part.length === 0) continue
      appendOutput(masker.push(sanitizer.push(part)))
      rawOffset += part.length
      if (part.at(-1) === LINE_FEED && !masker.isHolding()) positions?.clear(rawOffset, toSkip)
    }
  }

  /** What was held back belongs to what was written so far. */
  function appendHeld(): void {
    const held = masker.push(sanitizer.flush()) + masker.flush()
    if (isOutput) appendOutput(held)
    else appendOther(held)
    ;[sanitizer, masker] = [createSanitizer(), newMasker()]
  }

  /** At least the last megabytes stay. Only now and then, because it takes as long as reading what is dropped. */
  function dropExcess(): void {
    if (pendingBytes <= tailBytes + tailBytes / 4) return
    const dropped = pending.slice(0, fittingLength(pending, pendingBytes - tailBytes))
    const bytes = Buffer.byteLength(dropped)
    pending = pending.slice(dropped.length)
    pendingBytes -= bytes
    dueBytes = Math.max(0, dueBytes - bytes)
    offset += bytes
  }

  function storeTail(): void {
    timer = undefined
    const isFlood = pendingBytes > tailBytes / 5
    const waitMs = storedAt + FLOOD_FLUSH_MS - performance.now()
    if (isFlood && waitMs > 0) timer = setTimeout(startStoring, waitMs)
    else startStoring()
  }

  function startStoring(): void {
    clearTimeout(timer)
    timer = undefined
    dueBytes = pendingBytes
    storedAt = performance.now()
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
    const chunk: LogChunk = { startOffset: offset, text, bytes: Buffer.byteLength(text) }
    pending = pending.slice(text.length)
    pendingBytes -= chunk.bytes
    dueBytes -= chunk.bytes
    offset += chunk.bytes
    if (positions) chunk.raw = positions.at(offset)
    const omit = { from: headBytes, upTo: offset - tailBytes }
    await store(omit.upTo > omit.from ? { ...chunk, omit } : chunk)
  }

  function assertOpen(): void {
    if (failure) throw failure.error
    if (closed) throw new Error('This log is closed')
  }

  async function drain(): Promise<void> {
    while (pendingBytes >= flushBytes && !isTail() && !failure) {
      startStoring()
      await storing
    }
    if (failure) throw failure.error
  }

  /** So much of the output is lost, and so much longer is the log that it is missing from. */
  async function omit(bytes: number): Promise<void> {
    appendHeld()
    await storeAll()
    offset += bytes
    rawOffset += bytes
    toSkip = 0
    positions?.clear(rawOffset, 0)
  }

  async function storeAll(): Promise<void> {
    // What is being stored already may have begun before the rest was due.
    do {
      startStoring()
      await storing
    } while (pendingBytes > 0 && !failure)
    if (failure) throw failure.error
  }

  return {
    /**
     * Resolves as soon as there is room for more. Awaiting it before reading on keeps memory bounded while the
     * database is away: the command then blocks on its full pipe, unless what it prints is beyond the head.
     */
    async write(bytes: Uint8Array): Promise<void> {
      assertOpen()
      if (isOutput) appendHeld()
      isOutput = false
      appendOther(masker.push(sanitizer.push(bytes)))
      await drain()
    },
    /**
     * From now on `writeOutput` gets the output of a detached step, from this position on. Chunks then say where it continues
     * behind them. Returns where it begins in the log.
     */
    async beginOutput(position: RawPosition): Promise<number> {
      assertOpen()
      appendHeld()
      await storeAll()
      positions = createRawPositions(position)
      ;[rawOffset, toSkip, isOutput] = [position.offset, position.skip, true]
      return end()
    },
    /** `at`: the position of its first byte. What is missing before it is a gap of that length. */
    async writeOutput(bytes: Uint8Array, at: number): Promise<void> {
      assertOpen()
      if (at > rawOffset) await omit(at - rawOffset)
      appendBytes(bytes)
      await drain()
    },
    /** A line from Gantry. Output that is held back as the possible start of a secret comes after it. */
    async line(text: string): Promise<void> {
      assertOpen()
      const lineMasker = newMasker()
      appendLine(lineMasker.push(sanitizeText(text)) + lineMasker.flush())
      await drain()
    },
    /**
     * Resolves when everything is stored. Nothing can be written afterward. `isSuspended`: another attempt continues with the
     * same output, what is held back included.
     */
    async close({ isSuspended = false } = {}): Promise<void> {
      assertOpen()
      closed = true
      if (!isSuspended) appendHeld()
      await storeAll()
    },
  }
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
