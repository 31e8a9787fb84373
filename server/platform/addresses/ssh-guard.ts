// Which hosts Gantry may connect to over SSH. Servers are usually in private networks, so those are allowed; the
// machine that Gantry runs on, and what clouds and routers offer to it alone, are not.
import { checkSshAddress, parseNetwork } from './check-address.ts'
import { createResolver, type Lookup, plainHost } from './resolve.ts'
import { type RefusedHost, refuseHost } from './verdict.ts'

export type SshVerdict =
  /**
   * What the name resolves to now. A connection must go to one of these addresses and to no other. `isLoopback`: one of
   * them is this machine, which only servers that an instance administrator saved may reach.
   */
  | { kind: 'allowed'; addresses: string[]; isLoopback: boolean }
  | RefusedHost
  | { kind: 'unreachable'; message: string }

export type SshGuard = {
  check(host: string): Promise<SshVerdict>
  /** The same for addresses that the host was resolved to already. */
  judge(host: string, addresses: readonly string[]): SshVerdict
}

/** `targets`: the only networks that may be reached; empty: all public and private ones. */
export function createSshGuard(options: { targets: readonly string[]; lookup?: Lookup }): SshGuard {
  const resolve = createResolver(options.lookup)
  const networks = options.targets.flatMap(parseNetwork)

  function judge(host: string, addresses: readonly string[]): SshVerdict {
    const name = plainHost(host)
    if (addresses.length === 0)
      return { kind: 'unreachable', message: `the name ${name} could not be resolved` }
    let isLoopback = false
    for (const address of addresses) {
      const verdict = checkSshAddress(address, networks)
      if (verdict.kind === 'refused')
        return refuseHost(name, address, `may not be reached over SSH: ${verdict.reason}`)
      isLoopback ||= verdict.isLoopback
    }
    return { kind: 'allowed', addresses: [...addresses], isLoopback }
  }

  return { judge, check: async (host) => judge(host, await resolve(lookedUpName(host))) }
}

/** Every `localhost` is this machine, with or without a final dot (RFC 6761); not every resolver knows that. */
function lookedUpName(host: string): string {
  const name = plainHost(host)
  return /(^|\.)localhost\.?$/.test(name) ? 'localhost' : name
}
