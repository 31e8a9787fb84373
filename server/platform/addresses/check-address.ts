// Which addresses Gantry may connect to on behalf of a user, for a repository or a receiver of webhooks. Code that
// connects checks here first, and connects to exactly the address that was checked.
import ipaddr from 'ipaddr.js'

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

export type AddressRules = {
  /** Private networks that may be reached. */
  networks: readonly Network[]
  /** Loopback is allowed when Gantry itself is reached over loopback only: on a developer's own machine. */
  loopback: boolean
}

/** Where clouds serve credentials: never allowed. */
const METADATA = [
  '169.254.169.254',
  '169.254.170.2',
  '169.254.170.23',
  '100.100.100.200',
  '168.63.129.16',
  '192.0.0.192',
  'fd00:ec2::254',
  'fd00:ec2::23',
  'fd20:ce::254',
]

const GLOBAL_UNICAST = ipaddr.parse('2000::')

type AddressVerdict = { kind: 'allowed' } | { kind: 'refused'; reason: string }

/** Checks one address in any notation that the system accepts. Pure. */
export function checkAddress(text: string, rules: AddressRules): AddressVerdict {
  if (!ipaddr.isValid(text)) return refused('it is not an IP address')
  const address = plainAddress(ipaddr.parse(text))
  if (METADATA.some((one) => same(address, ipaddr.parse(one)))) return refused('it is a metadata address')
  if (rules.networks.some(([network, bits]) => contains(network, bits, address))) return { kind: 'allowed' }
  const range = rangeOf(address)
  if (range === 'loopback') return rules.loopback ? { kind: 'allowed' } : refused('it is a loopback address')
  return range === 'unicast' ? { kind: 'allowed' } : refused(`it is not a public address (${range})`)
}

/** Where servers are. */
const SERVER_RANGES = ['unicast', 'private', 'uniqueLocal', 'carrierGradeNat']
/** No host, or one that depends on who asks; not even a listed network makes them reachable. */
const NEVER_RANGES = 'linkLocal unspecified multicast broadcast rfc6052 rfc6145 6to4 teredo'.split(' ')

type SshAddressVerdict = { kind: 'allowed'; isLoopback: boolean } | { kind: 'refused'; reason: string }

/** Checks an address that SSH is to connect to; `targets`: the only networks allowed, unless empty. Pure. */
export function checkSshAddress(text: string, targets: readonly Network[]): SshAddressVerdict {
  if (!ipaddr.isValid(text)) return refused('it is not an IP address')
  const address = plainAddress(ipaddr.parse(text))
  const range = rangeOf(address)
  if (range === 'linkLocal' || METADATA.some((one) => same(address, ipaddr.parse(one))))
    return refused('link-local and metadata addresses are never allowed; change the host of the server')
  if (range === 'loopback') return { kind: 'allowed', isLoopback: true }
  const isListed = targets.some(([network, bits]) => contains(network, bits, address))
  if (NEVER_RANGES.includes(range) || (targets.length === 0 && !SERVER_RANGES.includes(range)))
    return refused(`it is not the address of a server (${range}); change the host of the server`)
  return targets.length === 0 || isListed
    ? { kind: 'allowed', isLoopback: false }
    : refused(
        'it is outside the networks of GANTRY_SSH_TARGETS; change the host of the server, or add its network to that setting',
      )
}

/** A CIDR or an address; nothing for anything else. */
export function parseNetwork(target: string): Network[] {
  if (ipaddr.isValidCIDR(target)) return [ipaddr.parseCIDR(target)]
  if (!ipaddr.isValid(target)) return []
  const address = ipaddr.parse(target)
  return [[address, address.kind() === 'ipv4' ? 32 : 128]]
}

/** Whether a socket is connected to the intended address, in any notation. */
export function isSameAddress(found: string | undefined, wanted: string): boolean {
  if (found === undefined || !ipaddr.isValid(found)) return false
  return same(ipaddr.process(found), ipaddr.process(wanted))
}

/** An IPv4 address embedded in IPv6 counts as that IPv4 address: mapped, translated (NAT64) or tunneled (6to4). */
function plainAddress(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4') return address
  const six = address as ipaddr.IPv6
  if (six.isIPv4MappedAddress()) return six.toIPv4Address()
  const bytes = six.toByteArray()
  const startsWith = (...prefix: number[]) => prefix.every((byte, index) => bytes[index] === byte)
  if (startsWith(0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0)) return fourOf(bytes.slice(12))
  if (startsWith(0x20, 0x02)) return fourOf(bytes.slice(2, 6))
  const isCompatible =
    bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte !== 0)
  return isCompatible ? fourOf(bytes.slice(12)) : six
}

function fourOf(bytes: number[]): ipaddr.IPv4 {
  return ipaddr.fromByteArray(bytes) as ipaddr.IPv4
}

/** Of IPv6 only 2000::/3 is allocated to the public; the library counts unallocated ranges as public, too. */
function rangeOf(address: ipaddr.IPv4 | ipaddr.IPv6): string {
  const range = address.range()
  if (range !== 'unicast' || address.kind() === 'ipv4') return range
  return contains(GLOBAL_UNICAST, 3, address) ? range : 'reserved'
}

function same(one: ipaddr.IPv4 | ipaddr.IPv6, other: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  return one.kind() === other.kind() && one.toNormalizedString() === other.toNormalizedString()
}

function contains(network: ipaddr.IPv4 | ipaddr.IPv6, bits: number, address: ipaddr.IPv4 | ipaddr.IPv6) {
  if (network.kind() !== address.kind()) return false
  return address.match(network as ipaddr.IPv4 & ipaddr.IPv6, bits)
}

function refused(reason: string): { kind: 'refused'; reason: string } {
  return { kind: 'refused', reason }
}
