import type { HttpClient } from '#adapters/http-client/client.ts'
import { signDelivery } from '#adapters/http-client/sign.ts'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { type EndedAttempt, handBack, type NextStep } from './attempt.ts'
import { buildContext, type ContextDeps } from './build-context.ts'
import type { ClaimedDelivery } from './claim-deliveries.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import { recordAttempt, recordRefusal, type SentRequest } from './record-attempt.ts'
import { nextAttempt } from './retry-schedule.ts'
import type { TokenVerdict } from './token-rule.ts'

export type TryDeps = ContextDeps & {
  sender: HttpClient
  now: () => Date
  random: () => number
  /** A clock that nobody sets: that of `ownedUntil`. */
  uptimeMs: () => number
}

/** Renders and sends one delivery. Throws only for faults of ours. */
export async function tryDelivery(
  deps: TryDeps,
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  token: TokenVerdict,
  signal: AbortSignal,
): Promise<EndedAttempt> {
  const unsent = { url: hook.targetUrl, method: hook.method }
  const refuse = (outcome: 'blocked' | 'unrenderable', why: string): EndedAttempt => ({
    delivery,
    next: { kind: 'give-up', why },
    record: recordRefusal(unsent, outcome, why, hook.mask),
  })
  if (token.kind === 'refused') return refuse('blocked', token.message)
  if (!hook.request) return refuse('unrenderable', 'A template of this hook is faulty: save the hook again.')

  const context = await buildContext(deps, hook, delivery, token.token)
  if (unmetCondition(hook.conditions, { event: context.event, action: context.action }))
    return { delivery, next: { kind: 'ignored' }, record: null }
  const rendered = renderRequest(hook.request, context as TemplateContext)
  if (rendered.kind === 'failed') return refuse('unrenderable', `${rendered.field}: ${rendered.message}`)

  // Held up, by an outage perhaps: somebody else may send this and what follows before our request has ended.
  if (deps.uptimeMs() + hook.timeoutMs > delivery.ownedUntil) return handBack(delivery)
  const request = signed(hook, delivery, rendered, deps.now())
  const outcome = await deps.sender.send(
    { ...request, timeoutMs: hook.timeoutMs, verifySsl: hook.verifySsl },
    signal,
  )
  if (signal.aborted && outcome.kind !== 'answered') return handBack(delivery)
  const now = deps.now()
  const result =
    outcome.kind === 'answered'
      ? { kind: outcome.kind, status: outcome.status, retryAfter: outcome.retryAfter, now }
      : { kind: outcome.kind }
  const next: NextStep = nextAttempt(result, delivery.attempt, deps.random())
  return { delivery, next, record: recordAttempt(request, outcome, hook.mask), result }
}

function signed(
  hook: OutgoingHook,
  delivery: ClaimedDelivery,
  rendered: { url: string; headers: Record<string, string>; body: Buffer | null },
  now: Date,
): SentRequest {
  const previous = hook.previousKey
  const keys =
    previous && previous.until > now.getTime() ? [hook.signingKey, previous.key] : [hook.signingKey]
  const signature = signDelivery({
    id: messageId(delivery.id),
    timestampSeconds: Math.floor(now.getTime() / 1_000),
    body: rendered.body ?? '',
    keys,
  })
  const isTyped = Object.keys(rendered.headers).some((name) => name.toLowerCase() === 'content-type')
  return {
    url: rendered.url,
    method: hook.method,
    headers: {
      ...(rendered.body && !isTyped && { 'content-type': 'application/json' }),
      ...rendered.headers,
      ...signature,
    },
    body: rendered.body,
  }
}

/** The same for every attempt of a delivery: by it receivers know what they have had already. */
export function messageId(deliveryId: string): string {
  return `msg_${deliveryId}`
}
