import { randomUUIDv7 } from 'node:crypto'
import type { SendOutcome } from '#adapters/http-client/client.ts'
import { MAX_BODY_BYTES } from '#adapters/http-client/exchange.ts'
import type { Mask } from '#platform/masking/mask.ts'
import { MASK } from '#platform/masking/masked.ts'
import type { AttemptOutcome, AttemptRecord } from './attempt.ts'

const MOST_REQUEST_BYTES = 64 * 1024
const MOST_RESPONSE_BYTES = 16 * 1024
/** Of a secret in whatever form. */
const LONGEST_SECRET = MAX_BODY_BYTES - MOST_RESPONSE_BYTES

/** Headers that carry somebody's key, whoever wrote it there. */
const KEY_HEADERS = new Set([
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

export type SentRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: Buffer | null
}

/** An attempt as it is kept: without secrets, in whatever form the receiver may have repeated them. */
export function recordAttempt(request: SentRequest, outcome: SendOutcome, mask: Mask): AttemptRecord {
  const answer = outcome.kind === 'answered' ? outcome : null
  return {
    id: randomUUIDv7(),
    url: storable(mask.text(request.url)),
    method: request.method,
    outcome: nameOutcome(outcome),
    error: outcome.kind === 'answered' ? null : storable(mask.text(outcome.message)),
    ipAddress: outcome.ipAddress,
    requestHeaders: hideKeys(mask.headers(request.headers)),
    requestBody: request.body && mask.bytes(request.body).subarray(0, MOST_REQUEST_BYTES),
    status: answer?.status ?? null,
    responseHeaders: answer && hideKeys(mask.headers(answer.headers)),
    responseBody: answer && keptAnswer(mask, answer.body),
    durationMs: Math.round(outcome.durationMs),
  }
}

/** Of an answer that was cut the end is left out: it may be the beginning of a secret. */
function keptAnswer(mask: Mask, body: Buffer): Buffer {
  const masked = mask.bytes(body)
  const isCut = body.length >= MAX_BODY_BYTES
  return masked.subarray(
    0,
    isCut ? Math.min(MOST_RESPONSE_BYTES, masked.length - LONGEST_SECRET) : MOST_RESPONSE_BYTES,
  )
}

/** A delivery that ended before anything was sent. */
export function recordRefusal(
  request: Pick<SentRequest, 'url' | 'method'>,
  outcome: AttemptOutcome,
  error: string,
  mask: Mask,
): AttemptRecord {
  return {
    id: randomUUIDv7(),
    url: storable(mask.text(request.url)),
    method: request.method,
    outcome,
    error: storable(mask.text(error)),
    ipAddress: null,
    requestHeaders: null,
    requestBody: null,
    status: null,
    responseHeaders: null,
    responseBody: null,
    durationMs: null,
  }
}

function nameOutcome(outcome: SendOutcome): AttemptOutcome {
  switch (outcome.kind) {
    case 'answered':
      if (outcome.status >= 200 && outcome.status < 300) return 'delivered'
      return outcome.status >= 300 && outcome.status < 400 ? 'redirected' : 'refused'
    case 'timed-out':
      return 'timed_out'
    case 'unreachable':
    case 'blocked':
      return outcome.kind
  }
}

function hideKeys<Headers extends Record<string, unknown>>(headers: Headers): Headers {
  const keys = Object.keys(headers).filter((name) => KEY_HEADERS.has(name.toLowerCase()))
  if (keys.length === 0) return headers
  return { ...headers, ...Object.fromEntries(keys.map((name) => [name, MASK])) }
}

/** PostgreSQL's text takes neither NUL nor half a surrogate pair. */
function storable(text: string): string {
  return text.replaceAll('\u0000', '').toWellFormed()
}
