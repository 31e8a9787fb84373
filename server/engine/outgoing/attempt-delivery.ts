import { isDeepStrictEqual } from 'node:util'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { readSentStatus, type SentStatus, type StatusKind } from '#model/hooks/sent-status.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { afterAnswer, type Continued } from './after-answer.ts'
import { type ContextDeps, kindOf } from './build-context.ts'
import { type CapturedRow, maskWith, recordAnswer, sealCaptured } from './captured-values.ts'
import { type Captured, NOTHING_CAPTURED } from './choose-request.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import { judgeAnswer } from './judge-answer.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import { messageId, prepareRequest, signRequest } from './prepare-request.ts'
import type { Pause } from './rate-budgets.ts'
import { MAX_CAPTURE_BYTES } from './read-captures.ts'
import { readLimit } from './read-limit.ts'
import { type AttemptRecord, recordUnsent, type SentRequest, type ShownRequest } from './record-attempt.ts'
import { type AttemptResult, type NextAttempt, nextAttempt } from './retry-schedule.ts'
import { afterLimit, budgetOf, type LimitDeps, limitedRecord, noteLimit, stillHeld } from './within-budget.ts'

/** What happens to a delivery after an attempt. */
export type NextStep =
  | NextAttempt
  /** The database rejects the record of the attempt: the delivery has failed. */
  | { kind: 'unrecorded'; reason: string }
  | Continued
  /** The hook's conditions are not met: nothing is sent or recorded. */
  | { kind: 'ignored' }
  /** The service allows no more requests for now: sent later, and not counted as an attempt. */
  | { kind: 'paused'; afterMs: number }
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
  /** What the service says about its rate limit; present for requests with a token. */
  pause?: Pause | null
  /** The commit status that it has set, for hooks that set one. */
  sentStatus?: SentStatus | null
  /** What is known about the action from now on; absent when nothing changed. */
  captured?: CapturedRow
}

export type AttemptDeps = ContextDeps &
  LimitDeps & {
    box: SecretBox
    sender: HttpClient
    now: () => Date
    random: () => number
    /** A monotonic clock: the one of `ownedUntil`. */
    uptimeMs: () => number
  }

export function handBack(delivery: ClaimedDelivery): FinishedAttempt {
  return { delivery, next: { kind: 'handed-back' }, record: null }
}

/** Tried again like a 404, which may mean "not yet", and then left to the events that follow. */
function postpone(
  { now, random }: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  reason: string,
): FinishedAttempt {
  const result: AttemptResult = { kind: 'answered', status: 404, retryAfter: null, now: now() }
  const next = nextAttempt(result, delivery.attempt, random())
  if (next.kind !== 'retry') return { delivery, next: { kind: 'ignored' }, record: null }
  const eventKind = kindOf(hook, delivery.event)
  return {
    delivery,
    next,
    record: { ...recordUnsent(hook.unsent, 'unrenderable', reason, hook.mask), eventKind },
  }
}

/** Null when it cannot be read back, or when storing it would store a secret that is part of it. */
function sentStatusOf(kind: StatusKind, request: SentRequest, shown: ShownRequest): SentStatus | null {
  const sent = readSentStatus(kind, request)
  return shown === request || isDeepStrictEqual(readSentStatus(kind, shown), sent) ? sent : null
}

/** Renders, signs and sends one delivery. Throws only for internal errors. */
export async function attemptDelivery(
  deps: AttemptDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  token: TokenAuthorization,
  signal: AbortSignal,
  captured: Captured = NOTHING_CAPTURED,
): Promise<FinishedAttempt> {
  const prepared = await prepareRequest(deps, hook, delivery, token, captured, delivery.id)
  const eventKind = kindOf(hook, delivery.event)
  if (prepared.kind === 'ignored') return { delivery, next: { kind: 'ignored' }, record: null }
  if (prepared.kind === 'not-yet') return postpone(deps, hook, delivery, prepared.reason)
  if (prepared.kind === 'unsendable') {
    const { outcome, reason } = prepared
    const record = {
      ...recordUnsent(hook.unsent, outcome, reason, maskWith(hook, captured.values)),
      eventKind,
    }
    return { delivery, next: { kind: 'failed', reason: record.error! }, record }
  }

  const budget = budgetOf(prepared)
  const held = budget && stillHeld(deps, budget, delivery)
  if (held) return { delivery, next: held, record: null }
  // Delayed, perhaps by an outage: another process may send this and its successors before our request ends.
  if (deps.uptimeMs() + hook.timeoutMs > delivery.ownedUntil) return handBack(delivery)
  const { request, shown } = signRequest(hook, messageId(delivery.id), prepared, deps.now())
  const outcome = await deps.sender.send(
    {
      ...request,
      timeoutMs: hook.timeoutMs,
      verifySsl: hook.verifySsl,
      sharer: hook.id,
      ...(hook.capture.length > 0 && { maxBodyBytes: MAX_CAPTURE_BYTES }),
    },
    signal,
  )
  if (signal.aborted && outcome.kind !== 'answered') return handBack(delivery)
  const limit = outcome.kind === 'answered' ? readLimit(outcome, deps.now()) : null
  const { credentialId, which } = prepared
  const pause = budget && noteLimit(deps, budget, outcome, limit)
  if (pause && limit?.isRefused) {
    const record = {
      ...limitedRecord(recordAnswer(hook, captured.values, shown, outcome), budget),
      eventKind,
    }
    return { delivery, next: afterLimit(delivery, budget, pause, deps.now()), record, credentialId, pause }
  }
  const judged = judgeAnswer(hook.preset, which, outcome)
  const result: AttemptResult =
    outcome.kind === 'answered'
      ? {
          kind: outcome.kind,
          status: judged.status,
          retryAfter: outcome.retryAfter,
          now: deps.now(),
          isRateLimited: judged.isLimited || (outcome.status === 403 && limit?.isRefused === true),
        }
      : { kind: outcome.kind }
  const scheduled = nextAttempt(result, delivery.attempt, deps.random())
  const record = recordAnswer(hook, captured.values, shown, outcome, judged)
  const retried: NextAttempt =
    scheduled.kind === 'failed' && judged.error !== null ? { ...scheduled, reason: record.error! } : scheduled
  const after = afterAnswer(hook, which, captured, result, retried, outcome)
  const sentStatus =
    hook.statusKind && after.next.kind === 'delivered' ? sentStatusOf(hook.statusKind, request, shown) : null
  return {
    delivery,
    next: after.next,
    record: { ...record, eventKind, captureError: after.captureError },
    credentialId,
    pause,
    sentStatus,
    // The receiver works: only what was created there is gone.
    ...(!after.isGone && { result }),
    ...(after.captured && { captured: sealCaptured(deps.box, hook, after.captured) }),
  }
}
