import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { type AddressRules, checkAddress } from './check-address.ts'

type HostVerdict =
  /** What the name resolves to now. A connection must go to one of these addresses and to no other. */
  | { kind: 'allowed'; addresses: string[] }
  | { kind: 'refused'; message: string }
  | { kind: 'unreachable'; message: string }

export type AddressGuard = { check(host: string): Promise<HostVerdict> }

/** The current addresses of a name; empty when there are none. */
export type Lookup = (name: string) => Promise<string[]>

/** `allowTargets`: private networks, addresses and host names that may be reached. */
export function createAddressGuard(options: {
  allowTargets: readonly string[]
  /** The URL of Gantry itself. */
  baseUrl: () => string
  /** The system resolver by default. */
  lookup?: Lookup
}): AddressGuard {
  const resolve = shareLookups(options.lookup ?? lookupWithSystem)
  const networks = options.allowTargets.flatMap(parseNetwork)
  const hosts = new Set(options.allowTargets.map((target) => target.toLowerCase()))

  return {
    async check(host) {
      const name = host.replace(/^\[|\]$/g, '').toLowerCase()
      const addresses = isIP(name) ? [name] : await resolve(name)
      if (addresses.length === 0)
        return { kind: 'unreachable', message: `The name ${name} cannot be resolved.` }
      const rules: AddressRules = { networks, loopback: isLoopback(new URL(options.baseUrl()).hostname) }
      for (const address of addresses) {
        const verdict = checkAddress(address, hosts.has(name) ? withAddress(rules, address) : rules)
        if (verdict.kind === 'refused') {
          const shown = address === name ? name : `${name} (${address})`
          return { kind: 'refused', message: `${shown} may not be reached: ${verdict.reason}.` }
        }
      }
      return { kind: 'allowed', addresses }
    },
  }
}

async function lookupWithSystem(name: string): Promise<string[]> {
  const found = await lookup(name, { all: true, verbatim: true })
  return found.map(({ address }) => address)
}

/**
 * Concurrent lookups of a name share one result: the system resolves only a few names at a time, and a slow one must
 * not occupy all of these slots.
 */
function shareLookups(lookup: Lookup): Lookup {
  const running = new Map<string, Promise<string[]>>()
  const start = (name: string) =>
    lookup(name)
      .catch(() => [])
      .finally(() => running.delete(name))
  return (name) => running.getOrInsertComputed(name, start)
}

function parseNetwork(target: string): AddressRules['networks'][number][] {
  if (ipaddr.isValidCIDR(target)) return [ipaddr.parseCIDR(target)]
  if (!ipaddr.isValid(target)) return []
  const address = ipaddr.parse(target)
  return [[address, address.kind() === 'ipv4' ? 32 : 128]]
}

/** A host that is allowed by name is allowed at any address it has now; metadata addresses never are. */
function withAddress(rules: AddressRules, address: string): AddressRules {
  return { ...rules, networks: [...rules.networks, ...parseNetwork(address)] }
}

function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '')
  return name === 'localhost' || (ipaddr.isValid(name) && ipaddr.parse(name).range() === 'loopback')
}
