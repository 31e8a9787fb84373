export const DEFAULT_SIGNATURE_HEADER = 'X-Hub-Signature-256'

/** Headers that carry secrets, whatever the hook: they are masked in records, and no condition reads them. */
export const SECRET_HEADERS: ReadonlySet<string> = new Set([
  'authorization',
  'proxy-authorization',
  'cookie',
  'x-gitlab-token',
  'x-api-key',
])

/** Headers that HTTP itself, proxies and clients set: a signature in one of them would not arrive as it was sent. */
const RESERVED =
  /^(host|content-(type|length|encoding)|transfer-encoding|connection|cookie|date|user-agent|accept.*|forwarded|x-forwarded-.*)$/i

/** Whether a header can carry the signature of a call. */
export function canCarrySignature(headerName: string): boolean {
  return !RESERVED.test(headerName)
}
