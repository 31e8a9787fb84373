import { randomUUIDv7 } from 'node:crypto'
import { isSigned } from '#model/hooks/signature-schemes.ts'
import { unmetCondition } from '#model/payload/conditions.ts'
import { extractVariables, type Variables } from '#model/payload/extract-variables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { parsePayload } from './parse-payload.ts'
import type { RateLimiter } from './rate-limit.ts'
import { contentTypeOf, type Headers, isPing, maskSecrets } from './sender-headers.ts'

export type Call = { headers: Headers; body: Buffer; address: string }

/** What happens with a call; whether it is a duplicate only the database knows. */
export type Verdict =
  | { kind: 'accepted'; variables: Variables }
  | { kind: 'ping' }
  | { kind: 'ignored'; path: string }
  | { kind: 'rejected_signature' }
  | { kind: 'rate_limited'; retryAfterSeconds: number }
  | { kind: 'rejected_payload'; isUnsupported: boolean; message: string }
  | { kind: 'rejected_variables'; errors: ErrorsByField }

/** For callers with a wrong signature or an unknown URL: enough for a mistake, too little for an attack. */
export const UNAUTHENTICATED_LIMIT = { perSecond: 20, burst: 100 }

/** In the order of the contract: signature, rate limit, payload, ping, conditions, variables. `now` in milliseconds. */
export function evaluateCall(hook: CompiledHook, call: Call, limiter: RateLimiter, now: number): Verdict {
  const isAuthentic = hasValidSignature(hook, call, now)
  const retryAfterSeconds = isAuthentic
    ? limiter.take(`hook ${hook.id}`, hook.rateLimit, now)
    : limiter.take(`address ${call.address}`, UNAUTHENTICATED_LIMIT, now)
  if (retryAfterSeconds > 0) return { kind: 'rate_limited', retryAfterSeconds }
  return isAuthentic ? evaluatePayload(hook, call) : { kind: 'rejected_signature' }
}

export type PayloadVerdict = Exclude<Verdict, { kind: 'rejected_signature' | 'rate_limited' }>

/** The part that dry runs and replays share: they are not signed. */
export function evaluatePayload(hook: CompiledHook, call: Pick<Call, 'headers' | 'body'>): PayloadVerdict {
  const payload = parsePayload(contentTypeOf(call.headers), call.body)
  if (payload.kind !== 'parsed')
    return {
      kind: 'rejected_payload',
      isUnsupported: payload.kind === 'unsupported',
      message:
        payload.kind === 'unsupported'
          ? 'The body must be JSON. Send `Content-Type: application/json`.'
          : payload.message,
    }
  if (isPing(call.headers)) return { kind: 'ping' }
  const unmet = unmetCondition(hook.conditions, payload.value)
  if (unmet) return { kind: 'ignored', path: unmet.path }
  const extracted = extractVariables(hook.variables, payload.value, payload.text)
  if (extracted.kind === 'invalid') return { kind: 'rejected_variables', errors: extracted.errors }
  return { kind: 'accepted', variables: extracted.variables }
}

function hasValidSignature(hook: CompiledHook, { headers, body }: Call, now: number): boolean {
  if (hook.signature === null) return true
  const rule =
    hook.previousSecretUntil > now
      ? hook.signature
      : { ...hook.signature, secrets: hook.signature.secrets.slice(0, 1) }
  return isSigned(rule, { headers, body, now: now / 1000 })
}

const STATUS_CODES: Record<Verdict['kind'], number> = {
  accepted: 202,
  ping: 200,
  ignored: 200,
  rejected_signature: 403,
  rate_limited: 429,
  rejected_payload: 400,
  rejected_variables: 422,
}

/** What is stored of a call, by column of `hook_requests`. */
export type CallRecord = ReturnType<typeof recordOf>

export function recordOf(hook: CompiledHook, call: Call, url: string, verdict: Verdict, startedAt: number) {
  const isUnsupported = verdict.kind === 'rejected_payload' && verdict.isUnsupported
  return {
    id: randomUUIDv7(),
    outcome: verdict.kind as string,
    response_status_code: isUnsupported ? 415 : STATUS_CODES[verdict.kind],
    ip_address: call.address,
    url,
    request_headers: maskSecrets(hook, call.headers),
    content_type: contentTypeOf(call.headers) ?? null,
    request_body: call.body,
    /** What the response said beyond the outcome. */
    response_body: explain(verdict),
    retry_of: null as string | null,
    duration_ms: Math.round(performance.now() - startedAt),
  }
}

function explain(verdict: Verdict): string | null {
  if (verdict.kind === 'ignored')
    return JSON.stringify({ message: `The condition on ${verdict.path} is not met.` })
  if (verdict.kind === 'rejected_payload') return JSON.stringify({ message: verdict.message })
  return verdict.kind === 'rejected_variables' ? JSON.stringify({ errors: verdict.errors }) : null
}
