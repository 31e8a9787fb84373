import ipaddr from 'ipaddr.js'

/**
 * The network that an address belongs to, as far as one operator usually hands it out: /24 for IPv4, /48 for IPv6.
 * Text that is no address, which a trusted proxy may have forwarded, stands for itself.
 */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address.slice(0, 64) || 'unknown'
  const parsed = ipaddr.process(address)
  if (parsed instanceof ipaddr.IPv4) return `${parsed.octets.slice(0, 3).join('.')}.0/24`
  const [first, second, third] = parsed.parts.map((part) => part.toString(16))
  return `${first}:${second}:${third}::/48`
}
