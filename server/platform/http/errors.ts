import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { isOutage } from '#platform/database/outages.ts'
import { type ErrorsByField, errorsByField } from './validation.ts'

/** Every code that `code` of an error answer can have; docs/errors.md explains each. */
export const ERROR_CODES = {
  malformed: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  method_not_allowed: 405,
  not_acceptable: 406,
  request_timeout: 408,
  conflict: 409,
  precondition_failed: 412,
  too_large: 413,
  uri_too_long: 414,
  unsupported_media_type: 415,
  invalid: 422,
  too_many_requests: 429,
  headers_too_large: 431,
  internal: 500,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof ERROR_CODES

/** An answer other than success. Thrown by routes and checks, turned into a reply in one place, below. */
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

export const notFound = () => new ApiError('not_found', 'There is nothing here, or nothing that you may see.')

export const invalid = (errors: ErrorsByField) =>
  new ApiError('invalid', 'Some of the given values are wrong; `errors` tells which and why.', { errors })

const RETRY_AFTER_SECONDS = 2

export const unavailable = () =>
  new ApiError(
    'unavailable',
    'The service cannot take requests at the moment; try again shortly. Nothing was accepted.',
    {
      headers: { 'retry-after': String(RETRY_AFTER_SECONDS) },
    },
  )

export function replyWithError(
  error: FastifyError | ApiError,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const known = toApiError(error)
  if (known.code === 'internal') request.log.error({ err: error }, 'a request failed unexpectedly')
  if (known.code === 'unavailable') request.log.warn({ reason: error.message }, 'a request was turned away')
  return (
    reply
      .code(known.status)
      // Refusals of the framework itself come before the hook that sets it.
      .header('x-request-id', request.id)
      .headers(known.headers)
      .type('application/json; charset=utf-8')
      .serializer(JSON.stringify)
      .send(errorBody(known, request.id))
  )
}

export function errorBody(error: ApiError, requestId: string) {
  return { message: error.message, errors: error.errors, code: error.code, request_id: requestId }
}

/** Fastify's own refusals, by its error codes. */
const FASTIFY_ERRORS: Record<string, ErrorCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'malformed',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'malformed',
  FST_ERR_BAD_URL: 'malformed',
  FST_ERR_MAX_PARAM_LENGTH: 'uri_too_long',
}

const MESSAGES: Partial<Record<ErrorCode, string>> = {
  too_large: 'The body is larger than this address accepts.',
  unsupported_media_type: 'The body must be JSON: send Content-Type: application/json.',
  malformed: 'The request is malformed.',
  uri_too_long: 'The address is too long.',
}

function toApiError(error: FastifyError | ApiError): ApiError {
  if (error instanceof ApiError) return error
  if (error.validation) return invalid(errorsByField(error.validation))
  if (isOutage(error)) return unavailable()
  const code = FASTIFY_ERRORS[error.code] ?? (error.statusCode === 400 ? 'malformed' : undefined)
  if (code) return new ApiError(code, MESSAGES[code] ?? 'The request was refused.')
  return new ApiError('internal', 'Something went wrong here; the request id helps to find it in the log.')
}
