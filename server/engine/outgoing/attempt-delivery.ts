import type { HttpClient } from '#adapters/http-client/client.ts'
import { type ContextDeps, kindOf } from './build-context.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import { messageId, prepareRequest, signRequest, unsentOf } from './prepare-request.ts'
import { isRateLimited } from './rate-limited.ts'
import { type AttemptRecord, recordAttempt, recordUnsent } from './record-attempt.ts'
import { type AttemptResult, type NextAttempt, nextAttempt } from './retry-schedule.ts'

/** What happens to a delivery after an attempt. */
export type NextStep =
  | NextAttempt
  /** The database rejects the record of the attempt: the delivery has failed. */
  | { kind: 'unrecorded'; reason: string }
  /** The hook's conditions are not met: nothing is sent or recorded. */
  | { kind: 'ignored' }
  /** This process stops, or was delayed for too long, before the receiver responded: another one continues. */
  | { kind: 'handed-back' }

export type FinishedAttempt = {
  delivery: ClaimedDelivery
  next: NextStep
  record: AttemptRecord | null
  /** What the receiver did; absent when nothing was sent. */
  result?: AttemptResult
  /** Whose token was sent. */
  credentialId?: number | null
}

export type AttemptDeps = ContextDeps & {
  sender: HttpClient
  now: () => Date
  random: () => number
  /** A monotonic clock: the one of `ownedUntil`. */
  uptimeMs: () => number
}

export function handBack(delivery: ClaimedDelivery): FinishedAttempt {
  return { delivery, next: { kind: 'handed-back' }, record: null }
}

/** Renders, signs and sends one delivery. Throws only for internal errors. */
export async function attemptDelivery(
  deps: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  token: TokenAuthorization,
  signal: AbortSignal,
): Promise<FinishedAttempt> {
  const prepared = await prepareRequest(deps, hook, delivery, token)
  const eventKind = kindOf(hook, delivery.event)
  if (prepared.kind === 'ignored') return { delivery, next: { kind: 'ignored' }, record: null }
  if (prepared.kind === 'unsendable') {
    const { outcome, reason } = prepared
    const record = { ...recordUnsent(unsentOf(hook), outcome, reason, hook.mask), eventKind }
    return { delivery, next: { kind: 'failed', reason }, record }
  }

  // Delayed, perhaps by an outage: another process may send this and its successors before our request ends.
  if (deps.uptimeMs() + hook.timeoutMs > delivery.ownedUntil) return handBack(delivery)
  const request = signRequest(hook, messageId(delivery.id), prepared.request, deps.now())
  const outcome = await deps.sender.send(
    { ...request, timeoutMs: hook.timeoutMs, verifySsl: hook.verifySsl },
    signal,
  )
  if (signal.aborted && outcome.kind !== 'answered') return handBack(delivery)
  const result: AttemptResult =
    outcome.kind === 'answered'
      ? {
          kind: outcome.kind,
          status: outcome.status,
          retryAfter: outcome.retryAfter,
          now: deps.now(),
          isRateLimited: isRateLimited(outcome),
        }
      : { kind: outcome.kind }
  const next = nextAttempt(result, delivery.attempt, deps.random())
  const record = { ...recordAttempt(request, outcome, hook.mask), eventKind }
  return { delivery, next, record, result, credentialId: prepared.credentialId }
}
