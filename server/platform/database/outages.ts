// Database outages: recognizing one, and retrying across it. Everything that must survive an outage (the queue,
// the runner, deliveries) retries by the contract of this file: outages only, any other error is thrown at once.
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from './error-code.ts'
import { OUTAGES, outageKind } from './outage-kinds.ts'

/** The server ended a session that was silent: nothing is wrong with the database. */
const SESSION_ENDED = new Set([
  '57P05', // idle session timeout
  '25P03', // idle in transaction timeout
])

/**
 * A statement that was prepared before a migration changed the columns of its result. Its code is that of many other
 * errors, and its text depends on the language of the server.
 */
export function isStaleStatement(error: Error & { routine?: string }): boolean {
  return error.routine === 'RevalidateCachedQuery'
}

/** True when the error says nothing about the statement, so that the same work may succeed later. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError && error.errors.some(isOutage)) return true
  if (outageKind(error) !== null || isStaleStatement(error)) return true
  if (SESSION_ENDED.has((error as NodeJS.ErrnoException).code ?? '')) return true
  return error.cause !== undefined && isOutage(error.cause)
}

export type RetryOptions = { firstDelayMs?: number; maxDelayMs?: number; onOutage?: (error: unknown) => void }

/**
 * Retries database work for as long as the database is unavailable: the result of a step that took an hour must
 * not be lost with a connection. Work may have been committed although its response was lost, so it has to be
 * idempotent. Throws every other error at once, and an `AbortError` when `signal` aborts during an outage.
 */
export async function retryOutage<Result>(
  work: () => Promise<Result>,
  signal: AbortSignal,
  { firstDelayMs = 100, maxDelayMs = 2_000, onOutage }: RetryOptions = {},
): Promise<Result> {
  for (let delayMs = firstDelayMs; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    try {
      return await work()
    } catch (error) {
      if (!isOutage(error)) throw error
      onOutage?.(error)
    }
    await delay(delayMs, undefined, { signal })
  }
}

/** `retryOutage` for the operations of one component; `operation` identifies the work in the log. */
export type OutageRetrier = <Result>(
  operation: string,
  work: () => Promise<Result>,
  signal: AbortSignal,
) => Promise<Result>

/** All operations share one view of the outage: its start is one log line and its end another. */
export function createOutageRetrier(
  log: Record<'info' | 'error', (fields: object, message: string) => void>,
  options: Omit<RetryOptions, 'onOutage'> = {},
): OutageRetrier {
  const interrupted = new Set<string>()
  let since = 0
  let ended = ''

  return async (operation, work, signal) => {
    const onOutage = (error: unknown) => {
      if (interrupted.size === 0) {
        since = performance.now()
        const kind = outageKind(error)
        const { event, remedy = null } = kind ? OUTAGES[kind] : { event: 'database session ended' }
        log.error({ err: error, code: codeOf(error), kind, operation, remedy }, `${event}; retrying`)
        ended =
          kind === 'unreachable' || kind === 'unresponsive'
            ? 'database available again'
            : 'database work continues'
      }
      interrupted.add(operation)
    }
    // An error that is not an outage comes from a database that is back.
    const onEnd = () => {
      if (signal.aborted || !interrupted.delete(operation) || interrupted.size > 0) return
      log.info({ duration_ms: Math.round(performance.now() - since) }, ended)
    }
    return retryOutage(work, signal, { ...options, onOutage }).finally(onEnd)
  }
}
