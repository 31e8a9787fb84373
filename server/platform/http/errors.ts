// Errors of the API: their codes, their form, and where each failure of a request becomes one.
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { commitOutcomeUnknown } from '#platform/database/client.ts'
import { codeOf } from '#platform/database/error-code.ts'
import { type OutageKind, outageKind } from '#platform/database/outage-kinds.ts'
import { isOutage } from '#platform/database/outages.ts'
import { type ErrorsByField, errorsByField } from './validation.ts'

/** Every `code` of an error response and its status; docs/errors.md explains each. */
export const ERROR_CODES = {
  malformed: 400,
  unauthenticated: 401,
  token_expired: 401,
  forbidden: 403,
  access_denied: 403,
  not_found: 404,
  unknown_route: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  conflict: 409,
  nothing_to_roll_back: 409,
  live_releases_differ: 409,
  live_unknown: 409,
  approval_outdated: 409,
  ambiguous_names: 409,
  authorization_pending: 409,
  expired_token: 409,
  precondition_failed: 412,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  slow_down: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
  outcome_unknown: 503,
  database_unreachable: 503,
  database_unresponsive: 503,
  database_read_only: 503,
  database_full: 503,
  pool_exhausted: 503,
  lock_wait: 503,
  queue_stalled: 503,
  outgrown: 503,
  stopping: 503,
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/** Codes of conflicts that a program may want to tell from others. */
export type ConflictCode = {
  [Code in ErrorCode]: (typeof ERROR_CODES)[Code] extends 409 ? Code : never
}[ErrorCode]

/** A response other than success. Thrown by routes and checks; `replyWithError` sends it. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly errors: ErrorsByField | null
  readonly headers: Record<string, string>

  constructor(
    code: ErrorCode,
    message: string,
    more: { errors?: ErrorsByField; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.code = code
    this.errors = more.errors ?? null
    this.headers = more.headers ?? {}
  }

  get status(): number {
    return ERROR_CODES[this.code]
  }
}

export const notFound = () => new ApiError('not_found', 'Not found, or not visible to you.')

export const invalid = (errors: ErrorsByField) =>
  new ApiError('invalid', 'Validation failed; `errors` lists every problem by field.', { errors })

/** For now: the caller is told when to try again. */
const later = (code: ErrorCode, message: string, seconds = 2) =>
  new ApiError(code, message, { headers: { 'retry-after': String(seconds) } })

export const tooManyRequests = (message: string, seconds: number) =>
  later('too_many_requests', message, seconds)

export const unavailable = (
  message = 'The service is temporarily unavailable; try again shortly. Nothing was accepted.',
) => later('unavailable', message)

/** What operators are told about a database that does not work; all others get `unavailable`. */
export const OUTAGE_CODES: Record<OutageKind, ErrorCode> = {
  unreachable: 'database_unreachable',
  unresponsive: 'database_unresponsive',
  read_only: 'database_read_only',
  disk_full: 'database_full',
  pool_exhausted: 'pool_exhausted',
  lock_wait: 'lock_wait',
}

/** For operators whose token cannot be checked: who they are is not known, so that they learn no more than the code. */
export const databaseAway = (kind: OutageKind) =>
  later(OUTAGE_CODES[kind], 'The token cannot be checked, because the database cannot be asked.')

/** A commit was sent, and its answer never arrived. */
export const outcomeUnknown = () =>
  later(
    'outcome_unknown',
    'The database went away while the request was being stored: it may have been accepted. Look before you repeat it; a hook call with a delivery id can be repeated safely.',
  )

export function replyWithError(error: FastifyError | ApiError, request: FastifyRequest, reply: FastifyReply) {
  const known = toApiError(error, request.method)
  if (known.code === 'internal') request.log.error({ err: error }, 'request failed')
  if (known.status === 503 && !request.routeOptions.config.reportsRejections)
    request.log.warn(
      { reason: error.message, kind: outageKind(error), code: codeOf(error) },
      'request rejected',
    )
  // Errors of the framework itself occur before the hook that sets the request id.
  return reply
    .code(known.status)
    .headers({ 'x-request-id': request.id, ...known.headers })
    .type('application/json; charset=utf-8')
    .serializer(JSON.stringify)
    .send(errorBody(known, request.id))
}

export function errorBody(error: ApiError, requestId: string) {
  return { message: error.message, errors: error.errors, code: error.code, request_id: requestId }
}

const MALFORMED: [ErrorCode, string] = ['malformed', 'The request is malformed.']

/** Errors of Fastify and of Node's HTTP parser, by their codes. */
const FRAMEWORK_ERRORS: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_BODY_TOO_LARGE: ['too_large', 'The body is larger than this route accepts.'],
  FST_ERR_CTP_INVALID_MEDIA_TYPE: [
    'unsupported_media_type',
    'The body must be JSON: send Content-Type: application/json.',
  ],
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: MALFORMED,
  FST_ERR_CTP_EMPTY_JSON_BODY: MALFORMED,
  FST_ERR_BAD_URL: MALFORMED,
  FST_ERR_MAX_PARAM_LENGTH: ['uri_too_long', 'The URL is too long.'],
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers of the request are too large.'],
}

function toApiError(error: FastifyError | ApiError, method: string): ApiError {
  if (error instanceof ApiError) return error
  if (error.validation) return invalid(errorsByField(error.validation))
  const mayBeStored = method !== 'GET' && method !== 'HEAD' && commitOutcomeUnknown(error) !== undefined
  if (isOutage(error)) return mayBeStored ? outcomeUnknown() : unavailable()
  const known = FRAMEWORK_ERRORS[error.code] ?? (error.statusCode === 400 ? MALFORMED : undefined)
  return new ApiError(...(known ?? ['internal', 'Internal error; the request id identifies it in the log.']))
}

/** For requests that are not HTTP, or never end: they match no route, but the response has the usual form. */
export function replyToBrokenConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const known = FRAMEWORK_ERRORS[error.code ?? '']
  const problem = new ApiError(...(known ?? ['malformed', 'This is not a valid HTTP request.']))
  const requestId = randomUUID()
  const body = JSON.stringify(errorBody(problem, requestId))
  const head = [
    `HTTP/1.1 ${problem.status} ${problem.message}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
