import { randomUUIDv7 } from 'node:crypto'
import { type ChecksEvent, readChecksEvent } from '#model/connections/checks-event.ts'
import { type Push, readPush } from '#model/connections/read-push.ts'
import { type SignatureProblem, signatureProblem } from '#model/hooks/signature-schemes.ts'
import { type ConditionResult, describeUnmet, unmetCondition } from '#model/payload/conditions.ts'
import { extractVariables, type Variables } from '#model/payload/extract-variables.ts'
import type { ErrorsByField } from '#platform/http/validation.ts'
import type { RateLimiter } from '#platform/rate-limit.ts'
import type { CompiledHook } from './compiled-hook.ts'
import type { HookTokens } from './hook-tokens.ts'
import { decodeBody, encodingOf, parsePayload } from './parse-payload.ts'
import { contentTypeOf, deliveryIdOf, type Headers, isPing, maskSecrets } from './sender-headers.ts'

/** `body`: the bytes as received. */
export type Call = { headers: Headers; body: Buffer; address: string }

/** What happens with a call; whether it is a duplicate only the database knows. */
export type Verdict =
  | { kind: 'accepted'; variables: Variables }
  | { kind: 'ping' }
  /** Checks of a commit have changed: runs that wait for them look again. */
  | { kind: 'checks'; event: ChecksEvent }
  | { kind: 'ignored'; unmet: ConditionResult }
  /** `problem` is for the record. It is not in the response, and the response time must not reveal it. */
  | { kind: 'rejected_signature'; problem: SignatureProblem }
  | { kind: 'rate_limited'; retryAfterSeconds: number }
  | { kind: 'rejected_payload'; code: keyof typeof PAYLOAD_STATUS_CODES; message: string }
  | { kind: 'rejected_variables'; errors: ErrorsByField }

/** For callers with a wrong signature or an unknown URL: enough for a mistake, too little for an attack. */
export const UNAUTHENTICATED_LIMIT = { perSecond: 20, burst: 100 }

const PAYLOAD_STATUS_CODES = { malformed: 400, too_large: 413, unsupported_media_type: 415 }

/** `body`: the decoded payload; null when it was not decoded, or could not be. `push`: of calls to connected hooks. */
export type Evaluation = { verdict: Verdict; body: Buffer | null; push?: Push | null }

type Limits = { limiter: RateLimiter; hookTokens: HookTokens; maxPayload: number }

/** In the order of the contract: signature, rate limit, payload, ping, conditions, variables. `now` in milliseconds. */
export async function evaluateCall(
  hook: CompiledHook,
  call: Call,
  limits: Limits,
  now: number,
): Promise<Evaluation> {
  const problem = problemOf(hook, call, now)
  const taken =
    problem === null
      ? limits.hookTokens.take(hook.id, hook.rateLimit)
      : limits.limiter.take(`address ${call.address}`, UNAUTHENTICATED_LIMIT, now)
  const retryAfterSeconds = typeof taken === 'number' ? taken : await taken
  if (retryAfterSeconds > 0) return { verdict: { kind: 'rate_limited', retryAfterSeconds }, body: null }
  if (problem !== null) return { verdict: { kind: 'rejected_signature', problem }, body: null }
  const decoded = decodeBody(call.headers, call.body, limits.maxPayload)
  if (decoded.kind === 'undecodable')
    return { verdict: { kind: 'rejected_payload', code: decoded.code, message: decoded.message }, body: null }
  const { body } = decoded
  const { verdict, payload } = judgePayload(hook, { headers: call.headers, body })
  return { verdict, body, push: hook.isConnected ? readPush(payload) : null }
}

export type PayloadVerdict = Exclude<Verdict, { kind: 'rejected_signature' | 'rate_limited' }>

/** The part that dry runs and replays share: they are not signed, and their body is decoded. */
export function evaluatePayload(hook: CompiledHook, call: Pick<Call, 'headers' | 'body'>): PayloadVerdict {
  return judgePayload(hook, call).verdict
}

/** `payload`: undefined when it cannot be read. */
function judgePayload(
  hook: CompiledHook,
  call: Pick<Call, 'headers' | 'body'>,
): { verdict: PayloadVerdict; payload?: unknown } {
  const rejected = (code: keyof typeof PAYLOAD_STATUS_CODES, message: string) => ({
    verdict: { kind: 'rejected_payload' as const, code, message },
  })
  if (encodingOf(call.headers) === null)
    return rejected('unsupported_media_type', 'The only supported `Content-Encoding` is `gzip`.')
  const payload = parsePayload(contentTypeOf(call.headers), call.body)
  if (payload.kind === 'unsupported')
    return rejected('unsupported_media_type', 'The body must be JSON. Send `Content-Type: application/json`.')
  if (payload.kind === 'malformed') return rejected('malformed', payload.message)
  return { verdict: judgeParsed(hook, call.headers, payload), payload: payload.value }
}

function judgeParsed(
  hook: CompiledHook,
  headers: Headers,
  { value, text }: { value: unknown; text: string },
): PayloadVerdict {
  if (isPing(headers)) return { kind: 'ping' }
  const event = hook.isToldOfChecks ? readChecksEvent(headers, value) : null
  if (event) return { kind: 'checks', event }
  const unmet = unmetCondition(hook.conditions, { payload: value, headers })
  if (unmet) return { kind: 'ignored', unmet }
  const extracted = extractVariables(hook.variables, value, text)
  if (extracted.kind === 'invalid') return { kind: 'rejected_variables', errors: extracted.errors }
  return { kind: 'accepted', variables: extracted.variables }
}

/** Each condition of the hook, for dry runs; empty when the payload cannot be read. */
export function evaluateConditions(
  hook: CompiledHook,
  { headers, body }: Pick<Call, 'headers' | 'body'>,
): ConditionResult[] {
  const payload = parsePayload(contentTypeOf(headers), body)
  if (payload.kind !== 'parsed') return []
  return hook.conditions.map((condition) => condition.evaluate({ payload: payload.value, headers }))
}

function problemOf(hook: CompiledHook, { headers, body }: Call, now: number): SignatureProblem | null {
  if (hook.signature === null) return null
  const hasExpired = hook.signature.secrets.length > 1 && hook.previousSecretUntil <= now
  const rule = hasExpired
    ? { ...hook.signature, secrets: hook.signature.secrets.slice(0, 1) }
    : hook.signature
  return signatureProblem(rule, { headers, body, now: now / 1000 })
}

const STATUS_CODES: Record<Exclude<Verdict['kind'], 'rejected_payload'>, number> = {
  accepted: 202,
  ping: 200,
  checks: 200,
  ignored: 200,
  rejected_signature: 403,
  rate_limited: 429,
  rejected_variables: 422,
}

/** What is stored of a call, by column of `hook_requests`. */
export type CallRecord = ReturnType<typeof recordOf>

export function recordOf(
  hook: CompiledHook,
  /** Without an address: Gantry made it. */
  call: Omit<Call, 'address'> & { address: string | null },
  { verdict, body, push = null }: Evaluation,
  url: string,
  startedAt: number,
) {
  return {
    id: randomUUIDv7(),
    outcome: verdict.kind as string,
    response_status_code:
      verdict.kind === 'rejected_payload' ? PAYLOAD_STATUS_CODES[verdict.code] : STATUS_CODES[verdict.kind],
    ip_address: call.address,
    url,
    request_headers: maskSecrets(hook, call.headers),
    content_type: contentTypeOf(call.headers) ?? null,
    /** Decoded, so that the record is readable and a replay evaluates the same payload. */
    request_body: body,
    /** The size as received. */
    body_bytes: call.body.length,
    signature_problem: verdict.kind === 'rejected_signature' ? verdict.problem : null,
    /** What the response said beyond the outcome. */
    response_body: explain(verdict),
    retry_of: null as string | null,
    duration_ms: Math.round(performance.now() - startedAt),
    /** Null for hooks that are not connected. */
    delivery_id: hook.isConnected ? deliveryIdOf(call.headers) : null,
    pushed_ref: push?.ref ?? null,
    pushed_commit: push?.commit ?? null,
  }
}

function explain(verdict: Verdict): string | null {
  if (verdict.kind === 'ignored') {
    const described = describeUnmet(verdict.unmet)
    const message = `${described[0]!.toUpperCase()}${described.slice(1)}. ${verdict.unmet.reason}`
    return JSON.stringify({ message })
  }
  if (verdict.kind === 'rejected_payload') return JSON.stringify({ message: verdict.message })
  return verdict.kind === 'rejected_variables' ? JSON.stringify({ errors: verdict.errors }) : null
}
