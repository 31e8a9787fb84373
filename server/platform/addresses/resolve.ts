import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'

/** The current addresses of a name; empty when there are none. */
export type Lookup = (name: string) => Promise<string[]>

/** A host as it is written in a URL or a field → the name or address to check. */
export function plainHost(host: string): string {
  return host.replace(/^\[|\]$/g, '').toLowerCase()
}

/** Resolves names, by default with the system's resolver; an address is its own result. */
export function createResolver(lookup: Lookup = lookupWithSystem): Lookup {
  const resolve = shareLookups(lookup)
  return async (name) => (isIP(name) ? [name] : resolve(name))
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
