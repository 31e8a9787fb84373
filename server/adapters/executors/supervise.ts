// What local and remote commands have in common: timeout, cancellation, input, and the order of cleanup.

import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as pause } from 'node:timers/promises'
import { type CommandEnd, type CommandRequest, type Executor, impossible } from './executor.ts'
import { forwardOutput } from './output.ts'
import { buildPreamble, whyImpossible } from './preamble.ts'

/** A command that has been launched, and is about to become a bash that waits for its preamble. */
export type LaunchedCommand = {
  stdin: Writable
  /** Everything that the command prints. Ends when no process is left that could print. */
  stdout: Readable
  /** How the main process ended. Never rejects. */
  ended: Promise<CommandEnd>
  /** Called once, with the process id of bash, when bash waits for its preamble. */
  onStarted?(pid: number): void
  /** SIGTERM to everything. Resolves when all of it has ended on its own, which may be never. */
  terminate(): Promise<void>
  /** SIGKILL to everything. Resolves when nothing is alive. */
  kill(): Promise<void>
  /** What was printed outside of the output when bash did not start. */
  startupError?(): string
  /** Called at the very end, however the command ended. */
  release?(): void
}

/** `shutDown` is called once, when commands no longer run. */
export function createExecutor<Request extends CommandRequest = CommandRequest>(deps: {
  launch(request: Request): Promise<LaunchedCommand | CommandEnd>
  shutDown(): Promise<void>
}): Omit<Executor, 'run'> & { run(request: Request): Promise<CommandEnd> } {
  const running = new Set<Promise<CommandEnd>>()
  const closing = new AbortController()
  let closed: Promise<void> | undefined

  async function run(request: Request): Promise<CommandEnd> {
    try {
      if (request.signal.aborted) return { kind: 'cancelled' }
      const invalid = whyImpossible(request)
      if (invalid) return invalid
      const launched = await deps.launch(request)
      return 'kind' in launched ? launched : await supervise(request, launched)
    } finally {
      request.input?.destroy()
    }
  }

  return {
    async run(request) {
      const end = run({ ...request, signal: AbortSignal.any([request.signal, closing.signal]) })
      running.add(end)
      return end.finally(() => running.delete(end))
    },
    close() {
      closing.abort()
      closed ??= Promise.allSettled(running).then(deps.shutDown)
      return closed
    },
  }
}

type FirstEvent =
  | { kind: 'ended'; end: CommandEnd }
  | { kind: 'stopped'; end: { kind: 'cancelled' | 'timed-out' } }
  | { kind: 'failed'; error: unknown }

/** Node's longest timer. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** From launch to end, for a request that passed validation. */
export async function supervise(request: CommandRequest, launched: LaunchedCommand): Promise<CommandEnd> {
  const event = Promise.withResolvers<FirstEvent>()
  const over = new AbortController()
  const fail = (error: unknown) => event.resolve({ kind: 'failed', error })
  const stop = (kind: 'cancelled' | 'timed-out') => {
    over.abort()
    event.resolve({ kind: 'stopped', end: { kind } })
  }
  const cancel = () => stop('cancelled')
  let fed = Promise.resolve()

  const timer = setTimeout(stop, Math.min(request.timeoutMs, MAX_TIMER_MS), 'timed-out')
  request.signal.addEventListener('abort', cancel)
  if (request.signal.aborted) cancel()
  launched.ended.then((end) => event.resolve({ kind: 'ended', end }))
  const output = forwardOutput(launched.stdout, {
    onOutput: request.onOutput,
    onStarted(pid) {
      launched.onStarted?.(pid)
      // A login shell may be slow. It would still execute what it receives after everyone has left.
      if (over.signal.aborted) return
      fed = feed(launched.stdin, buildPreamble(request), request.input, over.signal)
      fed.catch(fail)
    },
  })
  output.done.catch(fail)

  try {
    const first = await event.promise
    clearTimeout(timer)
    // A bash that has not started has nothing to clean up and nothing to print.
    const started = output.hasStarted()
    if (first.kind !== 'ended' && started) {
      const graceMs = typeof request.graceMs === 'function' ? request.graceMs() : request.graceMs
      await waitAtMost(Math.min(graceMs, MAX_TIMER_MS), launched.terminate())
    }
    await launched.kill()
    if (first.kind === 'failed') throw first.error
    if (first.kind === 'ended' || started) await output.finish()
    if (first.end.kind === 'exited' && !output.hasStarted())
      return impossible(launched.startupError?.() || output.beforeStart() || 'bash could not be started')
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

/**
 * Writes the preamble, then `input` with backpressure, until `over`. Rejects when `input` fails, and then does not
 * end the command's input: a truncated archive must not look complete. A command that does not read is no error.
 */
async function feed(stdin: Writable, preamble: string, input: Readable | undefined, over: AbortSignal) {
  stdin.on('error', () => {})
  if (!input) {
    stdin.end(preamble)
    return
  }
  stdin.write(preamble)
  for await (const chunk of input) {
    if (over.aborted) return
    // A closed SSH channel never drains and never emits an event.
    if (!stdin.write(chunk)) await once(stdin, 'drain', { signal: over }).catch(() => {})
  }
  stdin.end()
}

/** Even SIGKILL does not end a process that hangs in the kernel. A command waits for one no longer than this. */
export const KILL_TIMEOUT_MS = 10_000

/** Waits for the task, but not longer than `ms`. */
export async function waitAtMost(ms: number, task: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const timer = pause(ms, undefined, { signal: over.signal }).catch(() => {})
  await Promise.race([task, timer]).finally(() => over.abort())
}
