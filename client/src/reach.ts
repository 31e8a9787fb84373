// Who reaches a base URL. Git hosts, chat services and people elsewhere get URLs that begin with it.

export type Reach = 'public' | 'private' | 'loopback'

/** Names that public DNS does not have. */
const PRIVATE_NAMES = /(^|\.)(local|localdomain|internal|intranet|private|corp|home|lan|home\.arpa|test)$/

/** Judged by the URL alone: a host name is not resolved. Pure. */
export function reachOf(url: string): Reach {
  const host = URL.parse(url)?.hostname.toLowerCase().replace(/\.$/, '') ?? ''
  if (host.startsWith('[')) return reachOfIpv6(host.slice(1, -1))
  const bytes = /^\d+\.\d+\.\d+\.\d+$/.test(host) ? host.split('.').map(Number) : undefined
  if (bytes) return reachOfIpv4(bytes)
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback'
  return host.includes('.') && !PRIVATE_NAMES.test(host) ? 'public' : 'private'
}

function reachOfIpv4([one, two]: number[]): Reach {
  // 0.0.0.0 is an address to listen on; connecting to it reaches this machine.
  if (one === 127 || one === 0) return 'loopback'
  const isPrivate =
    one === 10 ||
    (one === 172 && two! >= 16 && two! <= 31) ||
    (one === 192 && two === 168) ||
    (one === 169 && two === 254) ||
    (one === 100 && two! >= 64 && two! <= 127)
  return isPrivate ? 'private' : 'public'
}

/** URLs write IPv6 addresses in the shortest form. */
function reachOfIpv6(address: string): Reach {
  if (address === '::1' || address === '::') return 'loopback'
  const mapped = /^::ffff:([0-9a-f]+):([0-9a-f]+)$/.exec(address)
  if (mapped) {
    const [high, low] = [Number.parseInt(mapped[1]!, 16), Number.parseInt(mapped[2]!, 16)]
    return reachOfIpv4([high >> 8, high & 255, low >> 8, low & 255])
  }
  return /^f(c|d|e[89ab])/.test(address) ? 'private' : 'public'
}

/** Who cannot reach a URL that is handed to others, and what to set; undefined when everyone can. Pure. */
export function unreached(url: string): { problem: string; remedy: string } | undefined {
  const origin = URL.parse(url)?.origin ?? url
  switch (reachOf(url)) {
    case 'loopback':
      return {
        problem: `Only the machine that Gantry runs on reaches ${origin}.`,
        remedy: 'Set GANTRY_URL to the URL that others use.',
      }
    case 'private':
      return {
        problem: `${origin} is in a private network: services and people outside of it cannot reach it.`,
        remedy: 'Set GANTRY_URL to a public URL if they have to.',
      }
    case 'public':
      return undefined
  }
}

/** The same as one text. */
export function reachProblem(url: string): string | undefined {
  const found = unreached(url)
  return found && `${found.problem} ${found.remedy}`
}
