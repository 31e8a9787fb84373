import type { IncomingHttpHeaders } from 'node:http'

// The cookie by which a browser is signed in, and how we know that one of our own pages asked. Pure.

export const SESSION_COOKIE = 'gantry_session'

/**
 * The token in a Cookie header. None when there are several: a neighbour under the same domain may have
 * planted one, and nobody can tell which is ours.
 */
export function readSessionCookie(header: string | undefined): string | undefined {
  const start = `${SESSION_COOKIE}=`
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length))
  return values.length === 1 ? values[0] : undefined
}

/** A Set-Cookie header; without a token it takes the cookie away. */
export function writeSessionCookie(
  session: { token: string; seconds: number } | null,
  baseUrl: string,
): string {
  const { token, seconds } = session ?? { token: '', seconds: 0 }
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  return `${SESSION_COOKIE}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`
}

/** What tells who asked: `host` as the caller wrote it, or as a trusted proxy says that they did. */
export type Asked = { method: string; headers: IncomingHttpHeaders; host: string }

/**
 * True when a request that only a cookie speaks for was meant by whoever uses the browser. Reading is always
 * fine: other sites cannot see the answer. Changing takes a header that no form of another site can send.
 */
export function isMeant({ method, headers, host }: Asked, baseUrl: string): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  return headers['x-gantry-request'] === '1' && isFromOwnPage({ headers, host }, baseUrl)
}

/** True unless the browser says that a page of somebody else asked. Other callers than browsers say nothing. */
export function isFromOwnPage({ headers, host }: Omit<Asked, 'method'>, baseUrl: string): boolean {
  const { origin, 'sec-fetch-site': site } = headers
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false
  if (origin === undefined) return true
  const asking = URL.parse(origin)
  return asking !== null && (asking.origin === URL.parse(baseUrl)?.origin || asking.host === host)
}
