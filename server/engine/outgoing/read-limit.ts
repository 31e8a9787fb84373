// What a response says about our rate limit. Pure.
import { readObject } from '#model/hooks/presets/read-answer.ts'
import { MAX_RETRY_AFTER_MS, readRetryAfter } from './retry-schedule.ts'

type Answer = { status: number; headers: Record<string, string | string[]>; body: Buffer }

export type RateLimit = {
  /** The request was refused because of the limit. If not, the next one would be. */
  isRefused: boolean
  /** When the next request may be sent, within an hour; null: no time is named, or one that has passed. */
  until: Date | null
  reason: 'rate limit' | 'secondary rate limit' | 'global rate limit'
}

/** What providers write when they limit requests with a 403: GitHub, GitLab, Gitea, Bitbucket and others. */
const MESSAGE = /rate[\s_-]?limit|too many requests|abuse detection/i
const SECONDARY = /secondary rate limit|abuse detection/i
/** A limit is stated at the beginning; the rest of a long page may be about anything. */
const READ_BYTES = 4 * 1024

/** Null: the answer states no limit that matters now. */
export function readLimit(answer: Answer, now: Date): RateLimit | null {
  const allowance = readAllowance(answer.headers, now)
  const isExhausted = allowance?.remaining === 0
  const body = readBody(answer)
  if (!isRefused(answer, body, isExhausted)) {
    const until = isExhausted ? allowance.until : null
    return until && { isRefused: false, until, reason: 'rate limit' }
  }
  // A reset belongs to the request only when nothing remains: a secondary limit says when it ends, or nothing.
  const named = [
    readRetryAfter(one(answer.headers, 'retry-after'), now),
    readSeconds(body.retry_after),
    isExhausted || allowance?.remaining === null ? msUntil(allowance.until, now) : null,
  ]
  const ms = Math.min(MAX_RETRY_AFTER_MS, Math.max(0, ...named.map((value) => value ?? 0)))
  return {
    isRefused: true,
    until: ms > 0 ? new Date(now.getTime() + ms) : null,
    reason: reasonOf(answer, body),
  }
}

/** How many more requests we may send until `until`; null: not stated. */
export function readAllowance(
  headers: Answer['headers'],
  now: Date,
): { remaining: number | null; until: Date | null } | null {
  const structured = readStructured(one(headers, 'ratelimit'))
  if (structured) return { remaining: structured.remaining, until: timeOf(structured.reset, now) }
  for (const prefix of ['x-ratelimit-', 'ratelimit-', 'x-rate-limit-']) {
    const remaining = readCount(one(headers, `${prefix}remaining`))
    const reset = one(headers, `${prefix}reset-after`) ?? one(headers, `${prefix}reset`)
    if (remaining !== null || reset !== null) return { remaining, until: timeOf(reset, now) }
  }
  return null
}

function isRefused(
  { status, headers, body: bytes }: Answer,
  body: Record<string, unknown>,
  isExhausted: boolean,
): boolean {
  if (status === 429) return true
  // Slack refuses with 200 as well.
  if (status === 200) return body.ok === false && /^rate_?limited$/.test(String(body.error))
  if (status !== 403) return false
  return headers['retry-after'] !== undefined || isExhausted || MESSAGE.test(beginning(bytes))
}

function reasonOf({ body: bytes }: Answer, body: Record<string, unknown>): RateLimit['reason'] {
  if (body.global === true) return 'global rate limit'
  return SECONDARY.test(beginning(bytes)) ? 'secondary rate limit' : 'rate limit'
}

const beginning = (body: Buffer) => body.toString('latin1', 0, READ_BYTES)

/** Only answers that may be about a limit are parsed, and only objects. */
function readBody({ status, body }: Answer): ReturnType<typeof readObject> {
  const isRead = [200, 403, 429].includes(status) && body.length <= READ_BYTES && body[0] === 0x7b
  return isRead ? readObject(body) : {}
}

function one(headers: Answer['headers'], name: string): string | null {
  return [headers[name]].flat()[0]?.trim() ?? null
}

function readCount(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null
}

/** `"default";r=0;t=30` of the IETF draft, several of them after commas, or `remaining=0, reset=30` of older ones. */
function readStructured(text: string | null): { remaining: number | null; reset: string | null } | null {
  if (text === null) return null
  const field = (part: string, name: string) => RegExp(`\\b${name}=([\\d.]+)`).exec(part)?.[1] ?? null
  if (/\bremaining=/.test(text))
    return { remaining: readCount(field(text, 'remaining')), reset: field(text, 'reset') }
  const policies = text
    .replace(/"[^"]*"/g, '')
    .split(',')
    .map((part) => ({ remaining: readCount(field(part, 'r')), reset: field(part, 't') }))
    .filter(({ remaining }) => remaining !== null)
  // The tightest one; of several that are exhausted, the one that lasts longest.
  const tightest = Math.min(...policies.map(({ remaining }) => remaining!))
  const [longest] = policies
    .filter(({ remaining }) => remaining === tightest)
    .sort((a, b) => Number(b.reset) - Number(a.reset))
  return longest ?? null
}

const FIRST_EPOCH_SECONDS = 1e9
const FIRST_EPOCH_MS = 1e12

/** A reset: seconds from now, seconds or milliseconds since 1970, or a date. Null: garbage, or not in the future. */
function timeOf(reset: string | null, now: Date): Date | null {
  if (reset === null) return null
  const number = /^\d+(\.\d+)?$/.test(reset) ? Number(reset) : null
  const ms =
    number !== null && number < FIRST_EPOCH_SECONDS
      ? Math.ceil(number * 1_000)
      : afterReset((number === null ? dateOf(reset) : fromEpoch(number)) - now.getTime())
  return ms > 0 ? new Date(now.getTime() + Math.min(MAX_RETRY_AFTER_MS, ms)) : null
}

const fromEpoch = (number: number) => (number >= FIRST_EPOCH_MS ? number : number * 1_000)
const dateOf = (text: string) =>
  /^(\d{4}-\d\d-\d\dT|[A-Z][a-z]{2}, \d)/.test(text) ? Date.parse(text) : Number.NaN

/** Clocks differ, and a time in whole seconds is up to a second early: one more, in whole seconds. */
const afterReset = (ms: number) => (ms > 0 ? (Math.ceil(ms / 1_000) + 1) * 1_000 : 0)

function readSeconds(value: unknown): number | null {
  return typeof value === 'number' && value > 0 ? Math.ceil(value * 1_000) : null
}

function msUntil(until: Date | null | undefined, now: Date): number | null {
  return until ? until.getTime() - now.getTime() : null
}
