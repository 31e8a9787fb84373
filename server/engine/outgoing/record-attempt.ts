import { randomUUIDv7 } from 'node:crypto'
import type { Selectable } from 'kysely'
import type { SendOutcome } from '#adapters/http-client/client.ts'
import { MAX_BODY_BYTES } from '#adapters/http-client/exchange.ts'
import type { CapturedValues } from '#model/hooks/captured.ts'
import type { Tables } from '#platform/database/tables.ts'
import { createMask, type Mask } from '#platform/masking/mask.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { Judgment } from './after-answer.ts'
import type { OutgoingHook } from './outgoing-hooks.ts'
import { hiddenTexts } from './read-captures.ts'
import { type AttemptResult, isDelivered } from './retry-schedule.ts'

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

/** The columns of `hook_requests` that the record of an attempt fills, and the types of their values. */
export const RECORD_TYPES = {
  outcome: 'text',
  error: 'text',
  ip_address: 'text',
  url: 'text',
  method: 'text',
  request_headers: 'json',
  request_body: 'bytea',
  response_status_code: 'int',
  response_headers: 'json',
  response_body: 'bytea',
  duration_ms: 'int',
  /** What was reported; null when that is not known. */
  event_kind: 'text',
  /** Which values its answer lacks, or has in a form that cannot be used. */
  capture_error: 'text',
} as const

type Row = Pick<Selectable<Tables['hook_requests']>, 'id' | keyof typeof RECORD_TYPES>

/** One attempt as it is stored; everything in it is masked already. */
export type AttemptRecord = Omit<Row, 'outcome' | 'response_headers'> & {
  outcome: AttemptOutcome
  response_headers: Record<string, unknown> | null
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
/** The longest secret, in any encoding, that a cut-off response can end in. */
const MAX_SECRET_BYTES = MAX_BODY_BYTES - MAX_RESPONSE_BYTES

/** Headers that carry credentials, whether they are known to us or not. */
const CREDENTIAL_HEADERS = new Set(
  `authorization proxy-authorization cookie set-cookie private-token job-token x-api-key api-key x-auth-token
  x-access-token`.split(/\s+/),
)

/** Headers that describe an answer; receivers do not repeat there what they were sent. */
const DESCRIBING_HEADERS =
  /^(content-(type|length|encoding)|date|server|retry-after|(x-)?ratelimit(-(limit|remaining|reset|used|resource|policy))?)$/i

export const WITHOUT_BODIES = {
  request_headers: null,
  request_body: null,
  response_headers: null,
  response_body: null,
} satisfies Partial<AttemptRecord>

/** A delivery that ended before anything was sent. */
export function recordUnsent(
  request: Pick<SentRequest, 'url' | 'method'>,
  outcome: AttemptOutcome,
  error: string | null,
  mask: Mask,
  eventKind: string | null = null,
): AttemptRecord {
  return {
    ...WITHOUT_BODIES,
    id: randomUUIDv7(),
    url: storable(mask.text(request.url)),
    method: request.method,
    outcome,
    error: error === null ? null : storable(mask.text(error)),
    ip_address: null,
    response_status_code: null,
    duration_ms: null,
    event_kind: eventKind,
    capture_error: null,
  }
}

/** What was sent and answered, without secrets in whatever encoding the receiver may have echoed them. */
export function recordAnswer(
  hook: Pick<OutgoingHook, 'mask' | 'capture' | 'answerOrigins'>,
  captured: CapturedValues,
  request: ShownRequest,
  outcome: SendOutcome,
  { result, error }: Judgment,
): AttemptRecord {
  const hidden = outcome.kind === 'answered' ? hiddenTexts(hook.capture, outcome) : []
  const mask = maskWith(hook, captured, hidden ?? [])
  const message = outcome.kind === 'answered' ? error : outcome.message
  const record: AttemptRecord = {
    ...recordUnsent(request, outcomeOf(result), message, mask),
    ip_address: outcome.ipAddress,
    request_headers: request.headers && hide(mask.headers(request.headers), isCredential),
    request_body: request.body && mask.bytes(request.body).subarray(0, MAX_REQUEST_BYTES),
    duration_ms: Math.round(outcome.durationMs),
  }
  if (outcome.kind !== 'answered') return record
  // A receiver that was sent a secret may repeat it in any form: what it answered is not stored.
  const isShown = hook.answerOrigins?.includes(new URL(request.url).origin) ?? true
  record.response_status_code = outcome.status
  record.response_headers = hide(mask.headers(outcome.headers), isShown ? isCredential : mayRepeat)
  if (isShown && hidden !== null) record.response_body = truncate(mask, outcome.body)
  return record
}

/** The mask of the hook, which then also hides those of the values that it hides, and these texts. */
export function maskWith(
  { mask, capture }: Pick<OutgoingHook, 'mask' | 'capture'>,
  captured: CapturedValues,
  texts: readonly string[] = [],
): Mask {
  const known = capture.flatMap(({ name, hidden }) =>
    hidden && Object.hasOwn(captured, name) ? [String(captured[name])] : [],
  )
  const secrets = [...known, ...texts]
  if (secrets.length === 0) return mask
  const more = createMask(secrets)
  return {
    text: (text) => more.text(mask.text(text)),
    bytes: (bytes) => more.bytes(mask.bytes(bytes)),
    headers: (headers) => more.headers(mask.headers(headers)),
  }
}

/** When the response itself was cut off, its end is dropped as well: it may be the beginning of a secret. */
function truncate(mask: Mask, body: Buffer): Buffer {
  const masked = mask.bytes(body)
  const isCut = body.length >= MAX_BODY_BYTES
  const safe = isCut ? masked.length - MAX_SECRET_BYTES : masked.length
  return masked.subarray(0, Math.min(MAX_RESPONSE_BYTES, safe))
}

function outcomeOf(result: AttemptResult): AttemptOutcome {
  if (result.kind === 'timed-out') return 'timed_out'
  if (result.kind !== 'answered') return result.kind
  if (isDelivered(result)) return 'delivered'
  return result.status >= 300 && result.status < 400 ? 'redirected' : 'refused'
}

const isCredential = (header: string) => CREDENTIAL_HEADERS.has(header.toLowerCase())
const mayRepeat = (header: string) => !DESCRIBING_HEADERS.test(header)

function hide<Headers extends Record<string, unknown>>(
  headers: Headers,
  isHidden: (name: string) => boolean,
): Headers {
  const names = Object.keys(headers).filter(isHidden)
  return names.length === 0
    ? headers
    : { ...headers, ...Object.fromEntries(names.map((name) => [name, MASK])) }
}

/** PostgreSQL text accepts neither NUL nor lone surrogates. */
export function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
