import type { components } from './api-types.ts'

type ErrorBody = components['schemas']['Error']

export type Called = { path: string; params: Record<string, string | number> }

/** The service responded with an error. */
export class GantryError extends Error {
  override readonly name: string = 'GantryError'
  readonly status: number
  /** As listed in docs/errors.md; `unknown` when something other than Gantry responded. */
  readonly code: string
  /** What is wrong with which field of the request. */
  readonly errors: Record<string, string[]>
  /** Identifies the request in the service's log. */
  readonly requestId: string | null
  readonly retryAfterSeconds: number | null
  /** What was called, such as `/actions/{action_id}` with `{ action_id: 42 }`; null for a stream. */
  readonly call: Called | null

  constructor(response: Response, body: Partial<ErrorBody>, call: Called | null = null) {
    super(body.message ?? `The service responded with status ${response.status}.`)
    this.status = response.status
    this.code = body.code ?? 'unknown'
    this.errors = body.errors ?? {}
    this.requestId = body.request_id ?? response.headers.get('x-request-id')
    this.retryAfterSeconds = secondsOf(response.headers.get('retry-after'))
    this.call = call
  }
}

/** The service did not respond, or its response was cut off. */
export class UnreachableError extends Error {
  override readonly name: string = 'UnreachableError'
}

/** Whether the same read may succeed later without anybody changing anything. */
export function isTransient(error: unknown): error is GantryError | UnreachableError {
  if (error instanceof GantryError) return error.status >= 500 || [408, 425, 429].includes(error.status)
  return error instanceof UnreachableError
}

/** Reads `Retry-After`: seconds or a date. */
export function secondsOf(retryAfter: string | null): number | null {
  if (retryAfter === null) return null
  const seconds = /^\d+$/.test(retryAfter)
    ? Number(retryAfter)
    : (Date.parse(retryAfter) - Date.now()) / 1_000
  return Number.isNaN(seconds) ? null : Math.max(0, seconds)
}
