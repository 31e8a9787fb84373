import type { Readable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { START_WORD } from './preamble.ts'

// A process that escaped, or that the kernel cannot end, may hold the output open forever.
const SILENCE_MS = 2_000
// More than pipes and channels buffer. Beyond it a process is still printing.
const MAX_AFTER_END = 16 * 1024 * 1024
const MAX_BEFORE_START = 64 * 1024

/** Passes on what a command prints, one chunk at a time, after the line that says that bash is ready. */
export function forwardOutput(
  stream: Readable,
  { onOutput, onStarted }: { onOutput(chunk: Buffer): Promise<void> | void; onStarted(pid: number): void },
) {
  let started = false
  let early = Buffer.alloc(0)
  let waitingSince: number | undefined
  let leftAfterEnd = Number.POSITIVE_INFINITY

  const done = (async () => {
    const chunks: AsyncIterator<Buffer, undefined> = stream[Symbol.asyncIterator]()
    for (;;) {
      waitingSince = performance.now()
      // The command's end reports a lost connection; here it only means that no more output comes.
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

  /** A login shell may have printed something before bash started; that is not the command's output. */
  function afterStart(chunk: Buffer): Buffer {
    early = Buffer.concat([early, chunk])
    const word = early.indexOf(`${START_WORD} `)
    const end = word === -1 ? -1 : early.indexOf('\n', word)
    if (end === -1) {
      early = early.subarray(-MAX_BEFORE_START)
      return Buffer.alloc(0)
    }
    started = true
    onStarted(Number(early.subarray(word + START_WORD.length + 1, end).toString()))
    const rest = early.subarray(end + 1)
    early = Buffer.alloc(0)
    return rest
  }

  return {
    /** Resolves when everything was passed on; rejects when `onOutput` threw. */
    done,
    /** Call when the command has ended: waits for `done`, unless a process holds the output open silently. */
    async finish(): Promise<void> {
      const over = new AbortController()
      leftAfterEnd = MAX_AFTER_END
      const endedAt = performance.now()
      const isSilent = () =>
        waitingSince !== undefined && performance.now() - Math.max(waitingSince, endedAt) >= SILENCE_MS
      const watch = (async () => {
        while (!isSilent()) await pause(SILENCE_MS / 10, undefined, { signal: over.signal })
      })().catch(() => {})
      await Promise.race([done, watch]).finally(() => over.abort())
      stream.destroy()
    },
    hasStarted: () => started,
    /** What was printed instead of a start: an error of sudo, of the login shell, … */
    beforeStart: () => early.toString('utf8').replace(/\s+/g, ' ').trim().slice(-500),
  }
}

// Launcher and guard print short lines, and so does a login shell before them.
const MAX_LINE = 64 * 1024

/** Calls back with every complete line. A stream without line breaks is destroyed before it fills the memory. */
export function onLines(stream: Readable, onLine: (line: string) => void): void {
  let partial = ''
  stream.on('data', (chunk: Buffer) => {
    const lines = (partial + chunk.toString('latin1')).split('\n')
    partial = lines.pop()!
    lines.forEach(onLine)
    if (partial.length > MAX_LINE) stream.destroy()
  })
}
