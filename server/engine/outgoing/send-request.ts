import type { HttpClient } from '#adapters/http-client/client.ts'
import { signDelivery } from '#adapters/http-client/sign.ts'
import type { CapturedValues } from '#model/hooks/captured.ts'
import { judgeAnswer } from './after-answer.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import type { PreparedRequest, Rendered } from './prepare-request.ts'
import { MAX_CAPTURE_BYTES } from './read-captures.ts'
import { readLimit } from './read-limit.ts'
import { recordAnswer } from './record-attempt.ts'

export type ReadyRequest = Extract<PreparedRequest, { kind: 'ready' }>

/** A request that was sent, signed, and what came back. */
export type Exchange = Awaited<ReturnType<typeof sendRequest>>

/** Signs and sends a request, and reads the answer. `id`: of the delivery, or of a test. */
export async function sendRequest(
  { http, now }: { http: HttpClient; now: () => Date },
  hook: OutgoingHook,
  prepared: ReadyRequest,
  captured: CapturedValues,
  { id, sharer, signal }: { id: string; sharer?: string; signal: AbortSignal },
) {
  const { request, shown } = signRequest(hook, messageId(id), prepared, now())
  const { timeoutMs, verifySsl } = hook
  const maxBodyBytes = hook.capture.length > 0 ? MAX_CAPTURE_BYTES : undefined
  const outcome = await http.send({ ...request, timeoutMs, verifySsl, sharer, maxBodyBytes }, signal)
  const answeredAt = now()
  // What the answer says about a rate limit; null: nothing that matters now.
  const limit = outcome.kind === 'answered' ? readLimit(outcome, answeredAt) : null
  const judgment = judgeAnswer(hook.preset, prepared.which, outcome, limit, answeredAt)
  const record = recordAnswer(hook, captured, shown, outcome, judgment)
  return { request, shown, outcome, limit, ...judgment, record, now: answeredAt }
}

/** The signature is that of what is sent, also where the record shows something else. */
function signRequest(hook: OutgoingHook, id: string, { request, shown }: Rendered, now: Date): Rendered {
  const { headers, body } = request
  const hasType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  const contentType = body && !hasType && { 'content-type': 'application/json' }
  const signature = signatureOf(hook, id, body ?? '', now)
  const signed = { ...request, headers: { ...contentType, ...headers, ...signature } }
  if (shown === request) return { request: signed, shown: signed }
  const shownHeaders = shown.headers && { ...contentType, ...shown.headers, ...signature }
  return { request: signed, shown: { ...shown, headers: shownHeaders } }
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

/** The same for every attempt of a delivery: receivers use it to detect duplicates. */
export function messageId(deliveryId: string): string {
  return `msg_${deliveryId}`
}
