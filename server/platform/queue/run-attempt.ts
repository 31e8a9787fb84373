import type { Attempt } from './core.ts'
import { HandOver } from './handler.ts'

/** Why a handler's signal aborts. It is the signal's `reason`. */
export class AbortedError extends Error {
  override name = 'AbortedError'
  readonly why: AbortCause
  constructor(why: AbortCause, message: string) {
    super(message)
    this.why = why
  }
}

type AbortCause = 'timeout' | 'lost' | 'stopping'

export type Outcome =
  | { kind: 'completed' }
  | { kind: 'failed'; error: Error }
  /** Another attempt owns the job: the result of this one no longer matters. */
  | { kind: 'lost' }
  | { kind: 'handed-back' }

export type RunningAttempt = ReturnType<typeof runAttempt>

/**
 * Runs a handler under its timeout. Once its signal has aborted, a handler that is not done throws; one that
 * returns has completed its job, unless it timed out. A handler that ignores the signal is abandoned after the
 * grace period: its outcome is decided then, and nothing it still does has an effect.
 */
export function runAttempt(
  attempt: Attempt,
  handler: (signal: AbortSignal) => Promise<void>,
  limits: { timeoutMs: number; abortGraceMs: number },
) {
  const controller = new AbortController()
  const abandoned = Promise.withResolvers<Error>()
  let aborted: AbortedError | undefined
  let graceTimer: NodeJS.Timeout | undefined
  const timeoutTimer = setTimeout(
    () => abort('timeout', `timed out after ${limits.timeoutMs / 1_000} s`),
    limits.timeoutMs,
  )

  function abort(why: AbortCause, message: string): void {
    if (aborted) return
    aborted = new AbortedError(why, message)
    controller.abort(aborted)
    graceTimer = setTimeout(() => abandoned.resolve(aborted!), limits.abortGraceMs)
  }

  async function run(): Promise<Outcome> {
    const error = await Promise.race([
      handler(controller.signal).then(() => undefined, asError),
      abandoned.promise,
    ])
    clearTimeout(timeoutTimer)
    clearTimeout(graceTimer)
    return decideOutcome(aborted, error)
  }

  return {
    attempt,
    lose: () => abort('lost', 'the job was reassigned to another worker'),
    stop: () => abort('stopping', 'the worker is stopping'),
    /** Never rejects, and resolves at the latest one grace period after the signal aborted. */
    outcome: run(),
  }
}

function decideOutcome(aborted: AbortedError | undefined, error: Error | undefined): Outcome {
  if (aborted?.why === 'lost') return { kind: 'lost' }
  // Also when the handler returned: it may have stopped halfway because of its signal.
  if (aborted?.why === 'timeout') return { kind: 'failed', error: aborted }
  if (!error) return { kind: 'completed' }
  return aborted || error instanceof HandOver ? { kind: 'handed-back' } : { kind: 'failed', error }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
