// The parts of the OpenAPI document that operations share: the errors, and the headers of requests and responses.

/** What the document needs to know of a route besides its schema. */
export type RouteTraits = {
  /** The body may be omitted. */
  bodyOptional?: boolean
  /** The route returns something other than JSON, whatever the caller accepts. */
  notJson?: boolean
  /** The body of a route that reads its bytes itself, so that no schema validates it. */
  requestBody?: object
  /** The route takes `Prefer: wait`. */
  waits?: boolean
}

const header = (description: string, schema: object) => ({ description, schema })

const RETRY_AFTER = { 'Retry-After': { $ref: '#/components/headers/Retry-After' } }
const REQUEST_ID = { 'X-Request-Id': { $ref: '#/components/headers/X-Request-Id' } }

export const COMMON_HEADERS = {
  ETag: header('The version of the record. Send it as `If-Match` with a change or removal.', {
    type: 'string',
  }),
  Link: header(
    'The URLs of other pages (RFC 8288): `first`, `prev`, `next` and `last`, as far as they apply. `last` is absent when the list is too long to count.',
    { type: 'string' },
  ),
  'X-Total-Count': header('The number of items on all pages: exact up to 10000, then `10000+`.', {
    type: 'string',
    pattern: '^[0-9]+\\+?$',
  }),
  'Preference-Applied': header(
    'The preference that the response took into account, such as `wait=60`. Absent when it did not wait.',
    { type: 'string' },
  ),
  'Retry-After': header('Seconds to wait before trying again.', { type: 'integer', minimum: 0 }),
  'WWW-Authenticate': header('The scheme to authenticate with: `Bearer`.', { type: 'string' }),
  'X-Request-Id': header('The id of the request, also in the log and in `request_id`.', {
    type: 'string',
    format: 'uuid',
  }),
}

export const IF_MATCH = {
  in: 'header',
  name: 'If-Match',
  required: false,
  description:
    'The `ETag` of your last read. If the record has changed since, nothing happens and the response is 412.',
  schema: { type: 'string' },
}

export const PREFER = {
  in: 'header',
  name: 'Prefer',
  required: false,
  description:
    '`wait=<seconds>`, 1 to 300 (RFC 7240): respond when the run has ended, at the latest after this time, with the state that it has then. Without it, and when too many requests wait, the response is immediate.',
  schema: { type: 'string' },
  example: 'wait=60',
}

/** Each error status: its name in the document, when it occurs, and headers that come with it. */
const ERRORS: Record<number, [name: string, description: string, headers?: object]> = {
  400: ['Malformed', 'The body is not valid JSON, or the URL is not validly encoded.'],
  401: [
    'Unauthenticated',
    'The token is missing, unknown, expired or revoked, or the email and password are incorrect.',
    { 'WWW-Authenticate': { $ref: '#/components/headers/WWW-Authenticate' } },
  ],
  403: ['Forbidden', 'The object is visible to you, but you lack a permission, or the token lacks a scope.'],
  404: ['NotFound', 'The object does not exist, or is not visible to you.'],
  406: ['NotAcceptable', '`Accept` does not allow the type of the response.'],
  408: ['RequestTimeout', 'The request did not arrive in time.'],
  409: ['Conflict', 'The current state does not allow it.'],
  412: ['PreconditionFailed', '`If-Match` does not match the current version.'],
  413: ['TooLarge', 'The body is larger than the route accepts.'],
  414: ['UriTooLong', 'A part of the path is longer than 512 characters.'],
  415: [
    'UnsupportedMediaType',
    'The body has another `Content-Type` or `Content-Encoding` than the route accepts.',
  ],
  422: ['Invalid', 'The request is well-formed but invalid; `errors` lists every problem by field.'],
  429: ['TooManyRequests', 'Too many requests; wait as long as `Retry-After` says.', RETRY_AFTER],
  500: ['InternalError', 'Gantry failed unexpectedly; the request id identifies the failure in the log.'],
  503: [
    'Unavailable',
    'Gantry is temporarily unavailable; nothing was accepted, unless `code` is `outcome_unknown`. Try again after `Retry-After`.',
    RETRY_AFTER,
  ],
}

export const COMMON_ERRORS = Object.fromEntries(
  Object.values(ERRORS).map(([name, description, headers]) => [
    name,
    {
      description,
      headers: { ...REQUEST_ID, ...headers },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
    },
  ]),
)

export function nameOfError(status: number): string {
  const error = ERRORS[status]
  if (!error) throw new Error(`the OpenAPI document does not describe the error ${status}`)
  return error[0]
}

/** The errors that a route can return whatever it does. */
export function errorsOf(route: RouteTraits & { method: string; hasParams: boolean; isPublic: boolean }) {
  const { method, hasParams, isPublic, notJson } = route
  const mayHaveBody = ['POST', 'PUT', 'PATCH'].includes(method)
  return [
    ...(mayHaveBody ? [400, 408, 413, 415] : []),
    ...(hasParams ? [400, 414] : []),
    ...(isPublic ? [] : [401, 403]),
    // What is public to read comes from memory, except where a route says otherwise.
    ...(isPublic && !mayHaveBody ? [] : [503]),
    ...(notJson ? [] : [406]),
    // A query may contain text that cannot be stored.
    422,
    500,
  ]
}
