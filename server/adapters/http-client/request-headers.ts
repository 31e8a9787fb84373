/** What is said about the connection or the length of the body: set by the sender itself, or not at all. */
const CONNECTION_HEADERS = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

export type PreparedHeaders =
  | { kind: 'ready'; headers: Record<string, string> }
  | { kind: 'faulty'; message: string }

/** Pure. A fault names the header, never its value: that may be a secret. */
export function prepareHeaders(given: Record<string, string>, userAgent: string): PreparedHeaders {
  const headers: Record<string, string> = Object.create(null)
  const names = new Set<string>()
  for (const name of Object.keys(given)) {
    const value = given[name]!
    const lower = name.toLowerCase()
    if (CONNECTION_HEADERS.has(lower.trim())) continue
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name))
      return { kind: 'faulty', message: `${JSON.stringify(name)} is not the name of a header.` }
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      return {
        kind: 'faulty',
        message: `The header ${name} holds a line break or another control character.`,
      }
    if (names.has(lower)) return { kind: 'faulty', message: `The header ${name} is given more than once.` }
    names.add(lower)
    headers[name] = asUtf8(value)
  }
  if (!names.has('user-agent')) headers['user-agent'] = userAgent
  return { kind: 'ready', headers }
}

/** Header texts are sent byte by byte; beyond ASCII the bytes of UTF-8 are what receivers expect. */
function asUtf8(value: string): string {
  return /^[\x00-\x7f]*$/.test(value) ? value : Buffer.from(value, 'utf8').toString('latin1')
}
