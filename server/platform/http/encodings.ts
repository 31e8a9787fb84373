/** The encodings that a caller names in `Accept-Encoding` and does not rule out. Pure. */
export function acceptedEncodings(acceptEncoding: string | undefined): ReadonlySet<string> {
  return new Set(
    (acceptEncoding ?? '')
      .split(',')
      .map((part) => part.trim().toLowerCase())
      .filter((part) => !/;\s*q=0(\.0{0,3})?$/.test(part))
      .map((part) => part.split(';', 1)[0]!.trim()),
  )
}
