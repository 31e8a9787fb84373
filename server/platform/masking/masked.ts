/** Shown instead of a secret, everywhere. */
export const MASK = '********'

/** Masks everything after the host of a URL: for many receivers the path is the credential. */
export function maskPath(address: string): string {
  const [origin] = /^https?:\/\/[^/?#]+/i.exec(address) ?? ['']
  return address.length > origin.length + 1 ? `${origin}/${MASK}` : address
}
