// The cookie that binds an attempt to the browser that started it. The session cookie cannot: it is not sent when
// another site, the provider, leads here. Pure.

const NAME = 'gantry_sign_in'
const SECONDS = 10 * 60

/** With TLS, the prefix keeps other hosts of the same domain from setting it. */
const nameFor = (baseUrl: string) => (baseUrl.startsWith('https:') ? `__Host-${NAME}` : NAME)

/** Undefined without one, and when there are several: another host may have set one of them. */
export function readAttemptCookie(header: string | undefined, baseUrl: string): string | undefined {
  const start = `${nameFor(baseUrl)}=`
  const values = (header ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part.startsWith(start))
    .map((part) => part.slice(start.length))
  return values.length === 1 && /^[\w-]{43}$/.test(values[0]!) ? values[0] : undefined
}

/** A Set-Cookie header; without a secret it clears the cookie. */
export function writeAttemptCookie(secret: string | null, baseUrl: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : ''
  const seconds = secret === null ? 0 : SECONDS
  return `${nameFor(baseUrl)}=${secret ?? ''}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Lax${secure}`
}
