// Database outages: recognizing one, and retrying across it. Everything that must survive an outage (the queue,
// the runner, deliveries) retries by the contract of this file: outages only, any other error is thrown at once.
import { setTimeout as delay } from 'node:timers/promises'

/** Errors that say nothing about the statement: the server is down, starting, stopping, or out of resources. */
const OUTAGE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT', // the socket of a server that is not running
  'EPIPE',
  'ETIMEDOUT',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EMFILE', // this process has no file descriptor left for a connection …
  'ENETUNREACH',
  'ENFILE', // … nor has the machine
  'ENOTFOUND',
  '40P01', // deadlock: with a migration, which takes more locks than we do
  '25006', // read-only: a standby, during a failover
  '53100', // disk full
  '53200', // out of memory
  '53300', // too many connections
  '55000', // database not accepting connections
  '55P03', // lock timeout
  '57014', // statement timeout
  '57P01', // administrator shutdown
  '57P02', // crash shutdown
  '57P03', // cannot connect now
  '57P05', // idle session timeout
  '25P03', // idle in transaction timeout
  '25P04', // transaction timeout
])

const OUTAGE_MESSAGES =
  /^(Connection terminated|Query read timeout|timeout exceeded when trying to connect|timeout expired|Client has encountered a connection error|Client was closed|the database system is)/

/**
 * A statement that was prepared before a migration changed the columns of its result. Its code is that of many other
 * errors, and its text depends on the language of the server.
 */
export function isStaleStatement(error: Error & { routine?: string }): boolean {
  return error.routine === 'RevalidateCachedQuery'
}

/** True when the database was unavailable, so that the same work may succeed later. */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError && error.errors.some(isOutage)) return true
  const code = (error as NodeJS.ErrnoException).code ?? ''
  if (code.startsWith('08') || OUTAGE_CODES.has(code) || OUTAGE_MESSAGES.test(error.message)) return true
  if (isStaleStatement(error)) return true
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

  return async (operation, work, signal) => {
    const onOutage = (error: unknown) => {
      if (interrupted.size === 0) {
        since = performance.now()
        log.error({ err: error, operation }, 'database unavailable; retrying')
      }
      interrupted.add(operation)
    }
    // An error that is not an outage comes from a database that is back.
    const onEnd = () => {
      if (signal.aborted || !interrupted.delete(operation) || interrupted.size > 0) return
      log.info({ duration_ms: Math.round(performance.now() - since) }, 'database available again')
    }
    return retryOutage(work, signal, { ...options, onOutage }).finally(onEnd)
  }
}
