import { once } from 'node:events'
import { connect, isIP, type LookupFunction } from 'node:net'
import type { Remote } from './address.ts'

/**
 * Whether a web host takes connections at all. Git would wait for minutes for one that does not, and has no
 * setting for it (ssh has). Says why not, or nothing.
 */
export async function findObstacle(
  remote: Remote,
  options: { addresses: string[]; withinMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  if (!remote.protocol.startsWith('http')) return undefined
  const { host, port } = remote as { host: string; port: number }
  const timeout = AbortSignal.timeout(options.withinMs)
  const signal = AbortSignal.any([options.signal, timeout])
  const lookup = options.addresses.length > 0 ? pinned(options.addresses) : undefined
  const socket = connect({ host, port, lookup })
  try {
    await once(socket, 'connect', { signal })
    return undefined
  } catch (error) {
    options.signal.throwIfAborted()
    if (timeout.aborted) return `${host} does not answer.`
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOTFOUND' || code === 'EAI_AGAIN'
      ? `No host is known by the name ${host}.`
      : `${host} takes no connection.`
  } finally {
    socket.on('error', () => {}).destroy()
  }
}

function pinned(addresses: string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }))
  return (_host, options, done) => {
    if (options.all) done(null, found)
    else done(null, found[0]!.address, found[0]!.family)
  }
}
