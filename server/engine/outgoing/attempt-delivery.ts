// One attempt: renders, signs and sends a claimed delivery, and judges the response. Nothing is stored here.
import { isDeepStrictEqual } from 'node:util'
import type { HttpClient, SendOutcome } from '#adapters/http-client/client.ts'
import { readSentStatus, type SentStatus, type StatusKind } from '#model/hooks/sent-status.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { afterAnswer, type Continued } from './after-answer.ts'
import type { BudgetLimiter } from './budget-limiter.ts'
import { type ContextDeps, kindOf } from './build-context.ts'
import { type CapturedRow, sealCaptured } from './captured-values.ts'
import { type Captured, NOTHING_CAPTURED } from './choose-request.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import { prepareRequest } from './prepare-request.ts'
import { type Budget, hostOf, type Pause, pauseFor } from './rate-budgets.ts'
import { type RateLimit, readAllowance } from './read-limit.ts'
import { type AttemptRecord, maskWith, recordUnsent } from './record-attempt.ts'
import { type AttemptResult, type NextAttempt, nextAttempt, RETRY_SPAN_MS } from './retry-schedule.ts'
import { type Exchange, type ReadyRequest, sendRequest } from './send-request.ts'

/** What happens to a delivery after an attempt. */
export type NextStep =
  | NextAttempt
  | Continued
  /** The hook's conditions are not met: nothing is sent or recorded. */
  | { kind: 'ignored' }
  /** The service allows no more requests for now: sent later, and not counted as an attempt. */
  | { kind: 'paused'; afterMs: number }
  /** This process stops, or was delayed for too long, before the receiver responded: another one continues. */
  | { kind: 'handed-back' }

/** A claimed delivery after its attempt, with everything that is to be stored about it. */
export type AttemptedDelivery = { delivery: ClaimedDelivery; next: NextStep } & (
  | { kind: 'skipped'; record: null }
  /** Nothing was sent, and the record says why. */
  | { kind: 'unsent'; record: AttemptRecord }
  | ({ kind: 'sent'; record: AttemptRecord } & Learned)
)

/** What a request and its answer say beyond their record. */
type Learned = {
  /** What the answer says about the receiver's health; null: nothing. */
  health: AttemptResult | null
  /** Whose token was sent; null: none. */
  credentialId: number | null
  /** What the service says about its rate limit; null: it has not reached one that is known. */
  pause: Pause | null
  /** The commit status that it has set; null: none that could be read back. */
  sentStatus: SentStatus | null
  /** What is known about the action from now on; null: nothing changed. */
  captured: CapturedRow | null
}

export type AttemptDeps = ContextDeps & {
  box: SecretBox
  http: HttpClient
  budgets: BudgetLimiter
  now: () => Date
  random: () => number
  /** A monotonic clock: the one of `ownedUntil`. */
  uptimeMs: () => number
}

/** Ends an attempt without a record: nothing was sent. */
export function skip(delivery: ClaimedDelivery, next: NextStep): AttemptedDelivery {
  return { kind: 'skipped', delivery, next, record: null }
}

/** How long this process holds a pause without a named end, until it is stored: the database decides its real length. */
const UNNAMED_PAUSE_MS = 60_000

/** Renders, signs and sends one delivery. Throws only for internal errors. */
export async function attemptDelivery(
  deps: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  token: TokenAuthorization,
  signal: AbortSignal,
  captured: Captured = NOTHING_CAPTURED,
): Promise<AttemptedDelivery> {
  const prepared = await prepareRequest(deps, hook, delivery, token, captured, delivery.id)
  switch (prepared.kind) {
    case 'ignored':
      return skip(delivery, { kind: 'ignored' })
    case 'not-yet':
      return postpone(deps, hook, delivery, prepared.reason)
    case 'unsendable': {
      const { outcome, reason } = prepared
      const mask = maskWith(hook, captured.values)
      const record = recordUnsent(hook.unsent, outcome, reason, mask, kindOf(hook, delivery.event))
      return { kind: 'unsent', delivery, next: { kind: 'failed', reason: record.error! }, record }
    }
  }
  const held = prepared.budget && whileHeld(deps.budgets, prepared.budget, delivery)
  if (held) return skip(delivery, held)
  // Delayed, perhaps by an outage: another process may send this and its successors before our request ends.
  if (deps.uptimeMs() + hook.timeoutMs > delivery.ownedUntil) return skip(delivery, { kind: 'handed-back' })
  const sending = { id: delivery.id, sharer: hook.id, signal }
  const exchange = await sendRequest(deps, hook, prepared, captured.values, sending)
  if (signal.aborted && exchange.outcome.kind !== 'answered') return skip(delivery, { kind: 'handed-back' })
  return evaluate(deps, hook, delivery, captured, prepared, exchange)
}

/** Tried again like a 404, which may mean "not yet", and then left to the events that follow. */
function postpone(
  { now, random }: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  reason: string,
): AttemptedDelivery {
  const result: AttemptResult = { kind: 'answered', status: 404, retryAfter: null, now: now() }
  const next = nextAttempt(result, delivery.attempt, random())
  if (next.kind !== 'retry') return skip(delivery, { kind: 'ignored' })
  const eventKind = kindOf(hook, delivery.event)
  const record = recordUnsent(hook.unsent, 'unrenderable', reason, hook.mask, eventKind)
  return { kind: 'unsent', delivery, next, record }
}

/** What happens to a delivery that must no longer be sent, because a pause began after it was claimed; null: it may. */
function whileHeld(budgets: BudgetLimiter, budget: Budget, delivery: ClaimedDelivery): NextStep | null {
  const claim = { claimedAt: delivery.claimedAt, isChecked: delivery.isBudgetChecked }
  const afterMs = budgets.heldMs(budget, claim)
  if (afterMs <= 0) return null
  // A claim that does not know the budget would claim it again immediately.
  return { kind: budgets.isUnknownToClaims(budget, claim) ? 'retry' : 'paused', afterMs }
}

/** What the answer, or its absence, means for the delivery. */
function evaluate(
  deps: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  captured: Captured,
  { which, budget }: ReadyRequest,
  exchange: Exchange,
): AttemptedDelivery {
  const { outcome, limit, result, error, now } = exchange
  const pause = budget && noteLimit(deps.budgets, budget, outcome, limit, now)
  const credentialId = budget?.credentialId ?? null
  const record = { ...exchange.record, event_kind: kindOf(hook, delivery.event) }
  if (pause && limit?.isRefused) {
    record.outcome = 'refused'
    record.error = `${hostOf(pause)} allows no more requests for now (rate limit).`
    const next = afterLimit(delivery, pause, now)
    return { kind: 'sent', delivery, next, record, credentialId, pause, ...NOTHING_ELSE }
  }
  const scheduled = nextAttempt(result, delivery.attempt, deps.random())
  const retried =
    scheduled.kind === 'failed' && error !== null ? { ...scheduled, reason: record.error! } : scheduled
  const after = afterAnswer(hook, which, captured, result, retried, outcome)
  record.capture_error = after.captureError
  const { statusKind } = hook
  return {
    kind: 'sent',
    delivery,
    next: after.next,
    record,
    credentialId,
    pause,
    // The receiver works if only what was created there no longer exists.
    health: after.isGone ? null : result,
    sentStatus: statusKind && after.next.kind === 'delivered' ? sentStatusOf(statusKind, exchange) : null,
    captured: after.captured && sealCaptured(deps.box, hook, after.captured),
  }
}

const NOTHING_ELSE = { health: null, sentStatus: null, captured: null }

/** Remembers what an answer says about the budget, and returns the pause that it asks for. */
function noteLimit(
  budgets: BudgetLimiter,
  budget: Budget,
  outcome: SendOutcome,
  limit: RateLimit | null,
  now: Date,
): Pause | null {
  if (outcome.kind !== 'answered') return null
  const { remaining = null, until = null } = readAllowance(outcome.headers, now) ?? {}
  if (remaining !== null && until !== null)
    budgets.note(budget, { remaining, ms: until.getTime() - now.getTime() })
  if (limit === null) return null
  const pause = pauseFor(budget, limit, now)
  budgets.pause(budget, pause.ms ?? UNNAMED_PAUSE_MS)
  return pause
}

/** What happens to a delivery that the service refused because of its limit. */
function afterLimit(delivery: ClaimedDelivery, pause: Pause, now: Date): NextStep {
  const waitedMs = now.getTime() - Date.parse(delivery.waitingSince)
  if (waitedMs <= RETRY_SPAN_MS) return { kind: 'paused', afterMs: pause.ms ?? UNNAMED_PAUSE_MS }
  const hours = Math.floor(RETRY_SPAN_MS / 3_600_000)
  return {
    kind: 'failed',
    reason: `${hostOf(pause)} allowed no request for ${hours} hours (${pause.reason}).`,
  }
}

/** Null when it cannot be read back, or when storing it would store a secret that is part of it. */
function sentStatusOf(kind: StatusKind, { request, shown }: Exchange): SentStatus | null {
  const sent = readSentStatus(kind, request)
  return shown === request || isDeepStrictEqual(readSentStatus(kind, shown), sent) ? sent : null
}
