/** What is shown in the place of a secret, everywhere. */
export const MASK = '********'

/** An address without what stands behind its host: many receivers know by that who may call them. */
export function maskPath(address: string): string {
  const [origin] = /^https?:\/\/[^/?#]+/i.exec(address) ?? ['']
  return address.length > origin.length + 1 ? `${origin}/${MASK}` : address
}
