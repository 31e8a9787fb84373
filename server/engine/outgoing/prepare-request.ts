import { signDelivery } from '#adapters/http-client/sign.ts'
import { renderRequest, type TemplateContext } from '#adapters/templates/render.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { buildContext, type ContextDeps, type Subject, TEST_KIND } from './build-context.ts'
import type { OutgoingHook, TokenAuthorization } from './outgoing-hooks.ts'
import type { SentRequest } from './record-attempt.ts'

type UnsignedRequest = Omit<SentRequest, 'method'>

/** What a hook sends about an event, or why it sends nothing. */
type PreparedRequest =
  /** `credentialId`: whose token the request contains. */
  | { kind: 'ready'; request: UnsignedRequest; credentialId: number | null }
  /** The hook's conditions are not met. A test is sent all the same. */
  | { kind: 'ignored' }
  | { kind: 'unsendable'; outcome: 'blocked' | 'unrenderable'; reason: string }

export async function prepareRequest(
  deps: ContextDeps,
  hook: OutgoingHook,
  subject: Subject,
  token: TokenAuthorization,
): Promise<PreparedRequest> {
  if (token.kind === 'denied') return { kind: 'unsendable', outcome: 'blocked', reason: token.message }
  const unrenderable = (reason: string): PreparedRequest => ({
    kind: 'unsendable',
    outcome: 'unrenderable',
    reason,
  })
  if (!hook.request) return unrenderable('A template of this hook is invalid. Save the hook again.')
  const context = await buildContext(deps, hook, subject, token.token)
  const { event, action } = context
  if (subject.event.kind !== TEST_KIND && unmetCondition(hook.conditions, { event, action }))
    return { kind: 'ignored' }
  const rendered = renderRequest(hook.request, context as TemplateContext)
  if (rendered.kind === 'failed') return unrenderable(`${rendered.field}: ${rendered.message}`)
  const { url, headers, body } = rendered
  const credentialId = token.token === null ? null : (hook.credential?.id ?? null)
  return { kind: 'ready', request: { url, headers, body }, credentialId }
}

export function signRequest(
  hook: OutgoingHook,
  id: string,
  { url, headers, body }: UnsignedRequest,
  now: Date,
): SentRequest {
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const contentType = body && !hasType && { 'content-type': 'application/json' }
  const signature = signatureOf(hook, id, body ?? '', now)
  return { url, method: hook.method, headers: { ...contentType, ...headers, ...signature }, body }
}

/** The headers of a signature with the hook's secret and, during a rotation, with the previous one. */
export function signatureOf(
  { signingKey, previousKey }: Pick<OutgoingHook, 'signingKey' | 'previousKey'>,
  id: string,
  body: Buffer | string,
  now: Date,
) {
  return signDelivery({
    id,
    timestampSeconds: Math.floor(now.getTime() / 1_000),
    body,
    keys: previousKey && previousKey.until > now.getTime() ? [signingKey, previousKey.key] : [signingKey],
  })
}

/** What the record of a request shows that was not rendered. */
export function unsentOf({ targetUrl, method }: OutgoingHook) {
  return { url: targetUrl, method }
}

/** The same for every attempt of a delivery: receivers use it to detect duplicates. */
export function messageId(deliveryId: string): string {
  return `msg_${deliveryId}`
}
