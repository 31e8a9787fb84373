// What an attempt does about the rate budget that its request counts against.
import type { SendOutcome } from '#adapters/http-client/client.ts'
import type { BudgetLimiter } from './budget-limiter.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import type { Budget, Pause } from './rate-budgets.ts'
import { type RateLimit, readAllowance, readLimit } from './read-limit.ts'
import type { AttemptRecord } from './record-attempt.ts'
import { type NextAttempt, RETRY_SPAN_MS } from './retry-schedule.ts'

export type LimitDeps = { budgets: BudgetLimiter; now: () => Date }

/** Until the pause is stored, when the service names no end: the database decides how long it is. */
const UNNAMED_MS = 60_000

/** Null: the request carries no token, and only the circuit breaker of its hook limits it. */
export function budgetOf(prepared: { request: { url: string }; credentialId: number | null }): Budget | null {
  const { credentialId, request } = prepared
  return credentialId === null ? null : { credentialId, origin: new URL(request.url).origin }
}

/** What the requests of a hook count against, as far as it is known before they are rendered. */
export function budgetOfHook({ requests, credential }: OutgoingHook): Budget | null {
  if (!requests?.usesAccessToken || !credential) return null
  return { credentialId: credential.id, origin: requests.first.compiled.url.origin }
}

type Waits = { kind: 'paused'; afterMs: number } | NextAttempt

/** What happens to a delivery that was claimed and must not be sent any more, because a pause began; null: it may be sent. */
export function stillHeld({ budgets }: LimitDeps, budget: Budget, delivery: ClaimedDelivery): Waits | null {
  const { claimedAt, isBudgetChecked: isChecked } = delivery
  const afterMs = budgets.heldMs(budget, { claimedAt, isChecked })
  if (afterMs <= 0) return null
  // A claim that does not know the budget would claim it again at once.
  return { kind: budgets.isUnknownToClaims(budget, { claimedAt, isChecked }) ? 'retry' : 'paused', afterMs }
}

/** The pause that an answer asks for, as a list. */
export function pausesOf(budget: Budget, outcome: SendOutcome, now: Date): Pause[] {
  const limit = outcome.kind === 'answered' ? readLimit(outcome, now) : null
  return limit ? [pauseFor(budget, limit, now)] : []
}

/** The pause that a limit asks for. */
export function pauseFor(budget: Budget, { until, reason }: RateLimit, now: Date): Pause {
  return { ...budget, ms: until && until.getTime() - now.getTime(), reason }
}

/** Remembers what an answer says about the budget, and returns the pause that it asks for. */
export function noteLimit(
  { budgets, now }: LimitDeps,
  budget: Budget,
  outcome: SendOutcome,
  limit: RateLimit | null,
): Pause | null {
  if (outcome.kind !== 'answered') return null
  const time = now()
  const { remaining = null, until = null } = readAllowance(outcome.headers, time) ?? {}
  if (remaining !== null && until !== null)
    budgets.note(budget, { remaining, ms: until.getTime() - time.getTime() })
  if (limit === null) return null
  const pause = pauseFor(budget, limit, time)
  budgets.pause(budget, pause.ms ?? UNNAMED_MS)
  return pause
}

/** What happens to a delivery that the service refused because of its limit. */
export function afterLimit(delivery: ClaimedDelivery, budget: Budget, pause: Pause, now: Date): Waits {
  const waitedMs = now.getTime() - Date.parse(delivery.waitingSince)
  if (waitedMs <= RETRY_SPAN_MS) return { kind: 'paused', afterMs: pause.ms ?? UNNAMED_MS }
  const hours = Math.floor(RETRY_SPAN_MS / 3_600_000)
  return {
    kind: 'failed',
    reason: `${hostOf(budget)} allowed no request for ${hours} hours (${pause.reason}).`,
  }
}

/** Refused, also when the status says otherwise. */
export function limitedRecord(record: AttemptRecord, budget: Budget): AttemptRecord {
  return {
    ...record,
    outcome: 'refused',
    error: `${hostOf(budget)} allows no more requests for now (rate limit).`,
  }
}

const hostOf = ({ origin }: Budget) => new URL(origin).host
