import { readCookie } from '#access/authorization/session-cookie.ts'

// The cookie that binds an attempt to the browser that started it. The session cookie cannot: it is not sent when
// another site, the provider, leads here. Pure.

const NAME = 'gantry_sign_in'
const SECONDS = 10 * 60

/** With TLS, the prefix keeps other hosts of the same domain from setting it. */
const nameFor = (baseUrl: string) => (baseUrl.startsWith('https:') ? `__Host-${NAME}` : NAME)

/** Undefined without a well-formed one. */
export function readAttemptCookie(header: string | undefined, baseUrl: string): string | undefined {
  const value = readCookie(header, nameFor(baseUrl))
  return value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}

/** A Set-Cookie header; without a secret it clears the cookie. */
export function writeAttemptCookie(secret: string | null, baseUrl: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  const seconds = secret === null ? 0 : SECONDS
  return `${nameFor(baseUrl)}=${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
