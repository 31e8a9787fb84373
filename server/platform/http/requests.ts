// What a request says about itself: its path, its origin, the types it accepts. And its one line in the log.
import type { IncomingHttpHeaders } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The route returns something other than JSON, whatever the caller accepts: a page. */
    notJson?: boolean
    /** The route returns this type, and only to callers that name it: an event stream. */
    offers?: string
    /** The route itself reports the requests that it rejects, several in one line of the log. */
    reportsRejections?: boolean
    /** The body may be omitted. */
    bodyOptional?: boolean
    /** The paths of the fields in the body whose large integers keep their digits (exact-json.ts). */
    exactNumbersAt?: readonly (readonly string[])[]
  }
}

/** Clients may send an absolute URL in the request line (`GET http://host/path`), as they do to proxies. */
export function pathAndQuery(target: string): string {
  return target.replace(/^https?:\/\/[^/?#]*/i, '')
}

/** The `Origin` of a request, else its `User-Agent`. */
export function originOf({ headers }: { headers: IncomingHttpHeaders }): string | null {
  const origin = headers.origin ?? headers['user-agent']
  return typeof origin === 'string' ? origin.slice(0, 512) : null
}

/** From the most specific range to the least: the first one in the header decides. */
const JSON_RANGES = ['application/json', 'application/*', '*/*']

/**
 * True when the caller can be sent JSON; without a header everything is accepted. A browser that opens the URL of an API
 * route asks for a page, and shows JSON as well.
 */
export function acceptsJson(accept: string | undefined): boolean {
  if (accept === undefined || accept.trim() === '') return true
  const accepted = new Map(accept.split(',').map(parseRange))
  if (accepted.get('text/html') === true && accepted.get('application/json') !== false) return true
  const decisive = JSON_RANGES.find((range) => accepted.has(range))
  return decisive !== undefined && accepted.get(decisive) === true
}

/** True when the caller asks for a page, and not for JSON by name: a browser. */
export function prefersPage(accept: string | undefined): boolean {
  return namesType(accept, 'text/html') && !namesType(accept, 'application/json')
}

/** True when the caller names exactly this type: a wildcard, or no header, is not enough. */
export function namesType(accept: string | undefined, type: string): boolean {
  return new Map((accept ?? '').split(',').map(parseRange)).get(type) === true
}

function parseRange(part: string): [range: string, accepted: boolean] {
  const [range = '', ...parameters] = part.split(';').map((piece) => piece.trim().toLowerCase())
  return [range, !parameters.some((parameter) => /^q=0(\.0{0,3})?$/.test(parameter))]
}

/**
 * Answers may carry secrets: no browser and no proxy keeps one, except where a route says otherwise. None of them could
 * be used again anyway: only files have a version that is compared.
 */
export function forbidStoring(app: FastifyInstance): void {
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('cache-control', 'no-store')
    done()
  })
}

/**
 * One wide line per request, and its id in the response. The route is logged, not the URL: a URL can carry the token
 * of a hook. The command line gets the version, so that it can report a mismatch.
 */
export function logRequests(
  app: FastifyInstance,
  version: string,
  callerId: (request: FastifyRequest) => number | null,
): void {
  // Without promises: every request goes through here.
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    if (request.headers['user-agent']?.startsWith('gantry-cli/')) reply.header('x-gantry-version', version)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode >= 400 && request.routeOptions.config.reportsRejections) return done()
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ip: request.ip,
        user_id: callerId(request),
      },
      'request',
    )
    done()
  })
}
