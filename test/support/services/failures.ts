import type { Reply } from './service.ts'

export type Failure = {
  /** Only a request of this call fails; others pass it by. */
  call?: string
  /** The call takes effect, and only its answer goes wrong. */
  performed?: boolean
  /** none: no answer, and the connection stays open; reset: the connection is closed; drip: the answer, a byte per second. */
  answer: Reply | 'none' | 'reset' | 'drip' | ((real: Reply) => Reply)
}

const HTML = { 'content-type': 'text/html; charset=utf-8' }

export const SERVER_ERROR: Failure = { answer: { status: 500, body: { message: 'Server Error' } } }
export const BAD_GATEWAY: Failure = {
  answer: { status: 502, headers: HTML, body: '<html><body><h1>502 Bad Gateway</h1></body></html>' },
}
export const NO_ANSWER: Failure = { answer: 'none' }
export const CONNECTION_LOST: Failure = { answer: 'reset' }

/** The call took effect, and the caller does not get to know. */
export const ANSWER_LOST: Failure = { performed: true, answer: 'reset' }
export const ANSWER_DRIPS: Failure = { performed: true, answer: 'drip' }
export const ANSWER_HELD: Failure = { performed: true, answer: 'none' }
export const ANSWER_IS_HTML: Failure = {
  performed: true,
  answer: ({ status }) => ({ status, headers: HTML, body: '<!doctype html><p>{{ 7 | times: 6 }}</p>' }),
}
export const ANSWER_IS_EMPTY: Failure = {
  performed: true,
  answer: ({ status }) => ({ status, body: '' }),
}
/** 2 MB of JSON; what matters comes last. */
export const ANSWER_IS_HUGE: Failure = {
  performed: true,
  answer: (real) => ({ ...real, body: { padding: 'x'.repeat(2 * 1024 * 1024), ...real.body } }),
}

export const failingAt = (call: string, failure: Failure): Failure => ({ ...failure, call })
export const answering = (
  status: number,
  body: unknown = {},
  headers: Record<string, string> = {},
): Failure => ({
  answer: { status, headers, body },
})
