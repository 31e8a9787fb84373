// What an answer means for a delivery. Pure.
import type { SendOutcome } from '#adapters/http-client/client.ts'
import { readAnswer } from '#model/hooks/presets/read-answer.ts'
import type { PresetKind } from '#model/hooks/presets/schema.ts'
import { type Captured, chooseRequest, type RequestKind } from './choose-request.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import { readCaptures } from './read-captures.ts'
import type { RateLimit } from './read-limit.ts'
import { type AttemptResult, isDelivered, type NextAttempt } from './retry-schedule.ts'

type Answer = Extract<SendOutcome, { kind: 'answered' }>

export type Judgment = {
  /** What decides about the delivery: with the status of the answer, unless the service means another one. */
  result: AttemptResult
  /** What the service says is wrong; null: nothing, or nothing that we know of. */
  error: string | null
}

/** What an answer, or its absence, means. `limit`: what it says about a rate limit. */
export function judgeAnswer(
  preset: PresetKind | null,
  which: RequestKind,
  outcome: SendOutcome,
  limit: RateLimit | null,
  now: Date,
): Judgment {
  if (outcome.kind !== 'answered') return { result: { kind: outcome.kind }, error: null }
  const { status, error, isLimited } = meaningOf(preset, which, outcome)
  const isRateLimited = isLimited || (outcome.status === 403 && limit?.isRefused === true)
  return { result: { kind: 'answered', status, retryAfter: outcome.retryAfter, now, isRateLimited }, error }
}

/** Some services say in the body what they mean. */
function meaningOf(preset: PresetKind | null, which: RequestKind, answer: Answer) {
  const verdict = preset === null ? 'ok' : readAnswer(preset, which, answer)
  if (verdict === 'ok') return { status: answer.status, error: null, isLimited: false }
  switch (verdict.kind) {
    case 'gone':
      return {
        status: 410,
        error: 'The object that this hook created no longer exists at the receiver.',
        isLimited: false,
      }
    case 'already':
      return { status: 200, error: null, isLimited: false }
    case 'limited':
      return { status: 429, error: null, isLimited: true }
    case 'refused':
      return { status: verdict.as, error: verdict.reason, isLimited: false }
  }
}

/** Continued immediately by another request, which is not a retry: an update, or a new creation. */
export type Continued = { kind: 'continued' }

type AfterAnswer = {
  next: NextAttempt | Continued
  /** What is known from now on; null when nothing changed. */
  captured: Captured | null
  captureError: string | null
  isGone: boolean
}

/**
 * What an answer means for a hook that captures: its values are kept, and a second request may follow. What an update does not
 * find is created once more, once per action. `retried`: what happens to a delivery otherwise. Pure.
 */
export function afterAnswer(
  hook: Pick<OutgoingHook, 'requests' | 'capture'>,
  which: RequestKind,
  captured: Captured,
  result: AttemptResult,
  retried: NextAttempt,
  outcome: SendOutcome,
): AfterAnswer {
  const unchanged = { next: retried, captured: null, captureError: null, isGone: false }
  if (which === 'update' && isGone(result, retried)) {
    if (captured.isRecreated)
      return { ...unchanged, next: { kind: 'failed', reason: REMOVED_AGAIN }, isGone: true }
    return {
      ...unchanged,
      next: { kind: 'continued' },
      captured: { values: {}, isRecreated: true },
      isGone: true,
    }
  }
  if (hook.capture.length === 0 || !isDelivered(result) || outcome.kind !== 'answered') return unchanged
  const { values, error } = readCaptures(hook.capture, outcome, captured.values)
  const known: Captured = { isRecreated: captured.isRecreated, values: { ...captured.values, ...values } }
  const isChanged = Object.entries(values).some(([name, value]) => captured.values[name] !== value)
  const isCreated = which === 'create' && chooseRequest(hook.requests!, hook, known).kind === 'update'
  // What the receiver returned may be what an earlier delivery created: it then says what that one said.
  const isUpdated = hook.requests!.updatesAfterCreate || captured.mayExist === true
  return {
    next: isCreated && isUpdated ? { kind: 'continued' } : retried,
    captured: isChanged ? known : null,
    captureError: error,
    isGone: false,
  }
}

const REMOVED_AGAIN =
  'The object that this hook created was removed again. Gantry recreates it once per action.'

/** 404 may mean "not yet": it has its retries first. */
function isGone(result: AttemptResult, retried: NextAttempt): boolean {
  if (result.kind !== 'answered') return false
  return result.status === 410 || (result.status === 404 && retried.kind === 'failed')
}
