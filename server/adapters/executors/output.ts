import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { START_WORD } from './preamble.ts'

export type Output = {
  /** Resolves when all was handed over; rejects when `onOutput` threw. */
  done: Promise<void>
  /** For when the command has ended: waits for `done`, unless somebody holds the output open without a word. */
  finish(): Promise<void>
  hasStarted(): boolean
  /** What was printed instead of a start: a refusal of sudo, of the login shell, … */
  beforeStart(): string
}

type Handlers = { onOutput(chunk: Buffer): Promise<void> | void; onStarted(pid: number): void }

// A process that got away, or that the kernel cannot end, may hold the output open for ever.
const SILENCE_MS = 2_000
// More than pipes and channels hold. Beyond it somebody is still printing.
const MOST_AFTER_END = 16 * 1024 * 1024
const KEPT_BEFORE_START = 64 * 1024

/** Hands over what a command prints, one chunk at a time, from the line on that says that bash is ready. */
export function handOver(stream: Readable, { onOutput, onStarted }: Handlers): Output {
  let started = false
  let early = Buffer.alloc(0)
  let waitingSince: number | undefined
  let leftAfterEnd = Number.POSITIVE_INFINITY

  const done = (async () => {
    const chunks: AsyncIterator<Buffer, undefined> = stream[Symbol.asyncIterator]()
    for (;;) {
      waitingSince = performance.now()
      // Whether a line was lost is for the command's end to tell; here it only means that no more will come.
      const next = await chunks.next().catch(() => ({ done: true, value: undefined }) as const)
      waitingSince = undefined
      if (next.done) return
      leftAfterEnd -= next.value.length
      if (leftAfterEnd < 0) return
      const chunk = started ? next.value : afterStart(next.value)
      if (chunk.length > 0) await onOutput(chunk)
    }
  })()
  done.catch(() => {})

  /** A login shell may have printed something before bash was reached; that is not the command's. */
  function afterStart(chunk: Buffer): Buffer {
    early = Buffer.concat([early, chunk])
    const word = early.indexOf(`${START_WORD} `)
    const end = word === -1 ? -1 : early.indexOf('\n', word)
    if (end === -1) {
      early = early.subarray(-KEPT_BEFORE_START)
      return Buffer.alloc(0)
    }
    started = true
    onStarted(Number(early.subarray(word + START_WORD.length + 1, end).toString()))
    const rest = early.subarray(end + 1)
    early = Buffer.alloc(0)
    return rest
  }

  return {
    done,
    async finish() {
      const over = new AbortController()
      leftAfterEnd = MOST_AFTER_END
      const endedAt = performance.now()
      const watch = (async () => {
        while (
          waitingSince === undefined ||
          performance.now() - Math.max(waitingSince, endedAt) < SILENCE_MS
        ) {
          await pause(SILENCE_MS / 10, undefined, { signal: over.signal })
        }
      })().catch(() => {})
      await Promise.race([done, watch]).finally(() => over.abort())
      stream.destroy()
    },
    hasStarted: () => started,
    beforeStart: () => early.toString('utf8').replace(/\s+/g, ' ').trim().slice(-500),
  }
}
