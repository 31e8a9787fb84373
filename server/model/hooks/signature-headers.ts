/** Headers that HTTP itself, proxies and clients set: a signature in one of them would not arrive as it was sent. */
const RESERVED =
  /^(host|content-(type|length|encoding)|transfer-encoding|connection|cookie|date|user-agent|accept.*|forwarded|x-forwarded-.*)$/i

/** Whether a header can carry the signature of a call. */
export function canCarrySignature(headerName: string): boolean {
  return !RESERVED.test(headerName)
}
