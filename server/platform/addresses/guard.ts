import ipaddr from 'ipaddr.js'
import { type AddressRules, checkAddress, parseNetwork } from './check-address.ts'
import { createResolver, type Lookup, plainHost } from './resolve.ts'
import { type RefusedHost, refuseHost } from './verdict.ts'

export type HostVerdict =
  /** What the name resolves to now. A connection must go to one of these addresses and to no other. */
  { kind: 'allowed'; addresses: string[] } | RefusedHost | { kind: 'unreachable'; message: string }

export type AddressGuard = { check(host: string): Promise<HostVerdict> }

/** `allowTargets`: private networks, addresses and host names that may be reached. */
export function createAddressGuard(options: {
  allowTargets: readonly string[]
  /** The URL of Gantry itself. */
  baseUrl: () => string
  /** The system resolver by default. */
  lookup?: Lookup
}): AddressGuard {
  const resolve = createResolver(options.lookup)
  const networks = options.allowTargets.flatMap(parseNetwork)
  const hosts = new Set(options.allowTargets.map((target) => target.toLowerCase()))

  return {
    async check(host) {
      const name = plainHost(host)
      const addresses = await resolve(name)
      if (addresses.length === 0)
        return { kind: 'unreachable', message: `The name ${name} cannot be resolved.` }
      const rules: AddressRules = { networks, loopback: isLoopback(new URL(options.baseUrl()).hostname) }
      for (const address of addresses) {
        const verdict = checkAddress(address, hosts.has(name) ? withAddress(rules, address) : rules)
        if (verdict.kind === 'refused')
          return refuseHost(name, address, `may not be reached: ${verdict.reason}.`)
      }
      return { kind: 'allowed', addresses }
    },
  }
}

/** A host that is allowed by name is allowed at any address it has now; metadata addresses never are. */
function withAddress(rules: AddressRules, address: string): AddressRules {
  return { ...rules, networks: [...rules.networks, ...parseNetwork(address)] }
}

function isLoopback(host: string): boolean {
  const name = plainHost(host)
  return name === 'localhost' || (ipaddr.isValid(name) && ipaddr.parse(name).range() === 'loopback')
}
