import type { HttpClient } from '#adapters/http-client/client.ts'
import { signDelivery } from '#adapters/http-client/sign.ts'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { buildContext, type ContextDeps } from './build-context.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import { isRateLimited } from './rate-limited.ts'
import { type AttemptRecord, recordAttempt, recordUnsent, type SentRequest } from './record-attempt.ts'
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
  const fail = (outcome: 'blocked' | 'unrenderable', reason: string): FinishedAttempt => ({
    delivery,
    next: { kind: 'failed', reason },
    record: recordUnsent({ url: hook.targetUrl, method: hook.method }, outcome, reason, hook.mask),
  })
  if (token.kind === 'denied') return fail('blocked', token.message)
  if (!hook.request) return fail('unrenderable', 'A template of this hook is invalid. Save the hook again.')

  const context = await buildContext(deps, hook, delivery, token.token)
  if (unmetCondition(hook.conditions, { event: context.event, action: context.action }))
    return { delivery, next: { kind: 'ignored' }, record: null }
  const rendered = renderRequest(hook.request, context as TemplateContext)
  if (rendered.kind === 'failed') return fail('unrenderable', `${rendered.field}: ${rendered.message}`)

  // Delayed, perhaps by an outage: another process may send this and its successors before our request ends.
  if (deps.uptimeMs() + hook.timeoutMs > delivery.ownedUntil) return handBack(delivery)
  const request = signRequest(hook, delivery, rendered, deps.now())
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
  const credentialId = token.token === null ? null : hook.credential?.id
  return { delivery, next, record: recordAttempt(request, outcome, hook.mask), result, credentialId }
}

function signRequest(
  { signingKey, previousKey, method }: OutgoingHook,
  delivery: ClaimedDelivery,
  { url, headers, body }: Omit<SentRequest, 'method'>,
  now: Date,
): SentRequest {
  const signature = signDelivery({
    id: messageId(delivery.id),
    timestampSeconds: Math.floor(now.getTime() / 1_000),
    body: body ?? '',
    keys: previousKey && previousKey.until > now.getTime() ? [signingKey, previousKey.key] : [signingKey],
  })
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const contentType = body && !hasType && { 'content-type': 'application/json' }
  return { url, method, headers: { ...contentType, ...headers, ...signature }, body }
}

/** The same for every attempt of a delivery: receivers use it to detect duplicates. */
export function messageId(deliveryId: string): string {
  return `msg_${deliveryId}`
}
