import { randomUUIDv7 } from 'node:crypto'
import type { SendOutcome } from '#adapters/http-client/client.ts'
import { MAX_BODY_BYTES } from '#adapters/http-client/exchange.ts'
import type { Mask } from '#platform/masking/mask.ts'
import { MASK } from '#platform/masking/masked.ts'

export const ATTEMPT_OUTCOMES = [
  'delivered',
  'refused',
  'redirected',
  'timed_out',
  'unreachable',
  'blocked',
  'unrenderable',
  'superseded',
  'unrecorded',
] as const
type AttemptOutcome = (typeof ATTEMPT_OUTCOMES)[number]

/** One attempt as it is stored; everything in it is masked already. */
export type AttemptRecord = {
  id: string
  outcome: AttemptOutcome
  error: string | null
  ipAddress: string | null
  url: string
  method: string
  requestHeaders: Record<string, string> | null
  requestBody: Buffer | null
  status: number | null
  responseHeaders: Record<string, unknown> | null
  responseBody: Buffer | null
  durationMs: number | null
  /** What was reported; null when that is not known. */
  eventKind: string | null
  /** Which values its answer lacks, or has in a form that cannot be used. */
  captureError: string | null
}

export type SentRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: Buffer | null
}

/** What a record shows of a request. Without headers: neither they nor the body can be shown without a secret. */
export type ShownRequest = Omit<SentRequest, 'headers'> & { headers: SentRequest['headers'] | null }

const MAX_REQUEST_BYTES = 64 * 1024
const MAX_RESPONSE_BYTES = 16 * 1024
/** In any encoding. */
const MAX_SECRET_BYTES = MAX_BODY_BYTES - MAX_RESPONSE_BYTES

/** Headers that carry credentials, whether they are known to us or not. */
const CREDENTIAL_HEADERS = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'set-cookie',
  'private-token',
  'job-token',
  'x-api-key',
  'api-key',
  'x-auth-token',
  'x-access-token',
])

export const WITHOUT_BODIES = {
  requestHeaders: null,
  requestBody: null,
  responseHeaders: null,
  responseBody: null,
} satisfies Partial<AttemptRecord>

/** A delivery that ended before anything was sent. */
export function recordUnsent(
  request: Pick<SentRequest, 'url' | 'method'>,
  outcome: AttemptOutcome,
  error: string | null,
  mask: Mask,
): AttemptRecord {
  return {
    ...WITHOUT_BODIES,
    id: randomUUIDv7(),
    url: storable(mask.text(request.url)),
    method: request.method,
    outcome,
    error: error === null ? null : storable(mask.text(error)),
    ipAddress: null,
    status: null,
    durationMs: null,
    eventKind: null,
    captureError: null,
  }
}

/** Without secrets, in whatever encoding the receiver may have echoed them. */
export function recordAttempt(
  request: ShownRequest,
  outcome: SendOutcome,
  mask: Mask,
  /** What the answer means, when its status does not say it. */
  judged: { status: number; error: string | null } | null = null,
): AttemptRecord {
  const response = outcome.kind === 'answered' ? outcome : null
  const error = outcome.kind === 'answered' ? (judged?.error ?? null) : outcome.message
  return {
    ...recordUnsent(request, outcomeOf(outcome, judged?.status), error, mask),
    ipAddress: outcome.ipAddress,
    requestHeaders: request.headers && hideCredentials(mask.headers(request.headers)),
    requestBody: request.body && mask.bytes(request.body).subarray(0, MAX_REQUEST_BYTES),
    status: response?.status ?? null,
    responseHeaders: response && hideCredentials(mask.headers(response.headers)),
    responseBody: response && truncate(mask, response.body),
    durationMs: Math.round(outcome.durationMs),
  }
}

/** Headers that describe an answer; receivers do not repeat there what they were sent. */
const DESCRIBING_HEADERS =
  /^(content-(type|length|encoding)|date|server|retry-after|(x-)?ratelimit(-(limit|remaining|reset|used|resource|policy))?)$/i

/** A receiver that was sent a secret may repeat it in any form: what it answered is not stored. */
export function withoutAnswer(record: AttemptRecord): AttemptRecord {
  const { responseHeaders } = record
  const hidden = Object.entries(responseHeaders ?? {}).map(([name, value]) => [
    name,
    DESCRIBING_HEADERS.test(name) ? value : MASK,
  ])
  return { ...record, responseHeaders: responseHeaders && Object.fromEntries(hidden), responseBody: null }
}

/** When the response itself was cut off, its end is dropped as well: it may be the beginning of a secret. */
function truncate(mask: Mask, body: Buffer): Buffer {
  const masked = mask.bytes(body)
  const isCut = body.length >= MAX_BODY_BYTES
  return masked.subarray(
    0,
    isCut ? Math.min(MAX_RESPONSE_BYTES, masked.length - MAX_SECRET_BYTES) : MAX_RESPONSE_BYTES,
  )
}

function outcomeOf(outcome: SendOutcome, meant?: number): AttemptOutcome {
  if (outcome.kind === 'timed-out') return 'timed_out'
  if (outcome.kind !== 'answered') return outcome.kind
  const status = meant ?? outcome.status
  if (status >= 200 && status < 300) return 'delivered'
  return status >= 300 && status < 400 ? 'redirected' : 'refused'
}

function hideCredentials<Headers extends Record<string, unknown>>(headers: Headers): Headers {
  const names = Object.keys(headers).filter((name) => CREDENTIAL_HEADERS.has(name.toLowerCase()))
  return names.length === 0
    ? headers
    : { ...headers, ...Object.fromEntries(names.map((name) => [name, MASK])) }
}

/** PostgreSQL text accepts neither NUL nor lone surrogates. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
