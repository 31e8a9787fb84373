import type { IncomingHttpHeaders } from 'node:http'

// The session cookie of a browser, and the CSRF rules for requests that it authenticates. Pure.

const SESSION_COOKIE = 'gantry_session'
/** With TLS. The prefix keeps other hosts of the same domain from setting it. */
const HOST_COOKIE = `__Host-${SESSION_COOKIE}`

/** The token in a Cookie header. The name without the prefix is that of plain HTTP, and of earlier releases. */
export function readSessionCookie(header: string | undefined): string | undefined {
  const hasPrefix = header?.split(';').some((part) => part.trim().startsWith(`${HOST_COOKIE}=`))
  return readCookie(header, hasPrefix ? HOST_COOKIE : SESSION_COOKIE)
}

/** None when there are several of that name: another host of the same domain may have set one. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  const start = `${name}=`
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length))
  return values.length === 1 ? values[0] : undefined
}

/** Set-Cookie headers; without a session they clear the cookie. With TLS, one that has the earlier name ends here. */
export function writeSessionCookie(session: { token: string; seconds: number } | null, baseUrl: string) {
  const { token, seconds } = session ?? { token: '', seconds: 0 }
  const write = (name: string, value: string, maxAge: number, more = '') =>
    `${name}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${more}`
  if (!baseUrl.startsWith('https:')) return [write(SESSION_COOKIE, token, seconds)]
  return [write(HOST_COOKIE, token, seconds, '; Secure'), write(SESSION_COOKIE, '', 0, '; Secure')]
}

/** `host` is the one of the request, or the one that a trusted proxy forwarded. */
export type RequestOrigin = { method: string; headers: IncomingHttpHeaders; host: string }

/**
 * Whether a cookie-authenticated request is safe from CSRF. Reads always are: other sites cannot see the response.
 * Writes require a header that no form of another site can send.
 */
export function passesCsrfCheck({ method, headers, host }: RequestOrigin, baseUrl: string): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  return headers['x-gantry-request'] === '1' && isSameOrigin({ headers, host }, baseUrl)
}

/** True unless the browser reports a page of another site. Callers that are not browsers report nothing. */
export function isSameOrigin({ headers, host }: Omit<RequestOrigin, 'method'>, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin === undefined) return true
  const page = URL.parse(origin)
  return page !== null && (page.origin === URL.parse(baseUrl)?.origin || page.host === host)
}
