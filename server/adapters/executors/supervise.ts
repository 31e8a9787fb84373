// What local and remote commands have in common: the deadline, cancelling, and the order of things at the end.

import type { Readable, Writable } from 'node:stream'
import { atMost } from './at-most.ts'
import type { CommandEnd, CommandRequest } from './executor.ts'
import { feed } from './input.ts'
import { handOver } from './output.ts'
import { buildPreamble } from './preamble.ts'

/** A command that has been launched, and is about to become a bash that waits for its preamble. */
export type LaunchedCommand = {
  stdin: Writable
  /** Everything that the command prints. Ends when nobody is left who could print. */
  stdout: Readable
  /** How the main process ended. Never rejects. */
  ended: Promise<CommandEnd>
  /** Told once, with the process id of bash, when it waits for its preamble. */
  onStarted?(pid: number): void
  /** SIGTERM to everything. Resolves when all of it has ended by itself, which may be never. */
  terminate(): Promise<void>
  /** SIGKILL to everything. Resolves when nothing is alive. */
  kill(): Promise<void>
  /** What was said instead when bash was not reached, outside of the output. */
  complaint?(): string
  /** Told at the very end, whichever it was. */
  release?(): void
}

type Turn =
  | { kind: 'ended'; end: CommandEnd }
  | { kind: 'stopped'; end: { kind: 'cancelled' | 'timed-out' } }
  | { kind: 'broken'; error: unknown }

/** Node's longest timer. */
const LONGEST_MS = 2 ** 31 - 1

/** From launch to end, for a request that was found possible. */
export async function supervise(request: CommandRequest, launched: LaunchedCommand): Promise<CommandEnd> {
  const turn = Promise.withResolvers<Turn>()
  const over = new AbortController()
  const broken = (error: unknown) => turn.resolve({ kind: 'broken', error })
  const stop = (kind: 'cancelled' | 'timed-out') => {
    over.abort()
    turn.resolve({ kind: 'stopped', end: { kind } })
  }
  const cancel = () => stop('cancelled')
  let fed = Promise.resolve()

  const deadline = setTimeout(stop, Math.min(request.timeoutMs, LONGEST_MS), 'timed-out')
  request.signal.addEventListener('abort', cancel)
  if (request.signal.aborted) cancel()
  launched.ended.then((end) => turn.resolve({ kind: 'ended', end }))
  const output = handOver(launched.stdout, {
    onOutput: request.onOutput,
    onStarted(pid) {
      launched.onStarted?.(pid)
      // A login shell may take its time. What was sent to it would still be obeyed after everyone has left.
      if (over.signal.aborted) return
      fed = feed(launched.stdin, buildPreamble(request), request.input, over.signal)
      fed.catch(broken)
    },
  })
  output.done.catch(broken)

  try {
    const first = await turn.promise
    clearTimeout(deadline)
    // Bash that has not begun has nothing to clear up, and nothing to say.
    const begun = output.hasStarted()
    if (first.kind !== 'ended' && begun) {
      await atMost(Math.min(graceOf(request), LONGEST_MS), launched.terminate())
    }
    await launched.kill()
    if (first.kind === 'broken') throw first.error
    if (first.kind === 'ended' || begun) await output.finish()
    if (first.end.kind === 'exited' && !output.hasStarted()) {
      const said = launched.complaint?.() || output.beforeStart()
      return { kind: 'impossible', message: said || 'bash could not be started' }
    }
    return first.end
  } finally {
    request.signal.removeEventListener('abort', cancel)
    over.abort()
    launched.stdout.destroy()
    launched.stdin.destroy()
    request.input?.destroy()
    await fed.catch(() => {})
    launched.release?.()
  }
}

function graceOf({ graceMs }: CommandRequest): number {
  return typeof graceMs === 'function' ? graceMs() : graceMs
}
