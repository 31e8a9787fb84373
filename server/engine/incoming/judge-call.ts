import { unmetCondition } from '#model/payload/conditions.ts'
import { extractVariables, type Variables } from '#model/payload/extract-variables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { CompiledHook } from './compiled-hook.ts'
import { isPing } from './delivery.ts'
import { parsePayload } from './parse-payload.ts'
import type { RateLimiter } from './rate-limit.ts'
import { isSigned } from './verify-signature.ts'

/** A call as it came. */
export type Call = {
  headers: Record<string, string | string[] | undefined>
  body: Buffer
  address: string
}

/** What is to happen with a call; whether it is a duplicate only the database can tell. */
export type Verdict =
  | { kind: 'accepted'; variables: Variables }
  | { kind: 'ping' }
  | { kind: 'ignored'; path: string }
  | { kind: 'rejected_signature' }
  | { kind: 'rate_limited'; retryAfterSeconds: number }
  | { kind: 'rejected_payload'; isUnsupported: boolean; message: string }
  | { kind: 'rejected_variables'; errors: ErrorsByField }

/** For those who sign badly, or guess addresses: enough for a mistake, too little for an attack. */
export const UNAUTHENTICATED_LIMIT = { perSecond: 20, burst: 100 }

/** In the order of the contract: signature, rate limit, payload, ping, conditions, variables. `now` in milliseconds. */
export function judgeCall(hook: CompiledHook, call: Call, limiter: RateLimiter, now: number): Verdict {
  if (!hasValidSignature(hook, call, now)) {
    const retryAfterSeconds = limiter.take(`address ${call.address}`, UNAUTHENTICATED_LIMIT, now)
    return retryAfterSeconds > 0
      ? { kind: 'rate_limited', retryAfterSeconds }
      : { kind: 'rejected_signature' }
  }
  const retryAfterSeconds = limiter.take(`hook ${hook.id}`, hook.rateLimit, now)
  if (retryAfterSeconds > 0) return { kind: 'rate_limited', retryAfterSeconds }
  return judgePayload(hook, call)
}

/** The part that a dry run and a replay share: they are not signed. */
export function judgePayload(hook: CompiledHook, call: Pick<Call, 'headers' | 'body'>): Verdict {
  const payload = parsePayload(contentTypeOf(call), call.body)
  switch (payload.kind) {
    case 'unsupported':
      return {
        kind: 'rejected_payload',
        isUnsupported: true,
        message: 'The body must be JSON: send Content-Type: application/json.',
      }
    case 'malformed':
      return { kind: 'rejected_payload', isUnsupported: false, message: payload.message }
  }
  if (isPing(call.headers)) return { kind: 'ping' }
  const unmet = unmetCondition(hook.conditions, payload.value)
  if (unmet) return { kind: 'ignored', path: unmet.path }
  const extracted = extractVariables(hook.variables, payload.value, payload.text)
  if (extracted.kind === 'faults') return { kind: 'rejected_variables', errors: extracted.errors }
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

export function contentTypeOf({ headers }: Pick<Call, 'headers'>): string | undefined {
  const type = headers['content-type']
  return typeof type === 'string' ? type : undefined
}
