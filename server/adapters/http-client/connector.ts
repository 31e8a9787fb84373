import type { Socket } from 'node:net'
import { buildConnector } from 'undici'
import { isSameAddress } from '#platform/addresses/check-address.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { connectFault, isWorthAnotherAddress, SendFault } from './faults.ts'
import type { Line } from './line.ts'

/** Sockets that are not connected yet, for whoever has to end them. */
export type Openings = { sockets: Set<Socket>; isClosed: boolean }

/** While another address is left to try, one that does not answer is given up soon. */
const IMPATIENT_MS = 3_000
/** As long as the longest time that a request may have: the exchange ends earlier by itself. */
const PATIENT_MS = 30_000
const MOST_ADDRESSES = 8

/**
 * Opens connections to the very addresses that the guard has judged, asking it for each connection anew, so
 * that neither a literal nor a name that changes between two lookups leads elsewhere. The name itself is used
 * for the certificate only. The line is told the address. Fails with a `SendFault`.
 */
export function createConnector(options: {
  guard: AddressGuard
  verifySsl: boolean
  openings: Openings
}): (line: Line) => buildConnector.connector {
  const shared = { rejectUnauthorized: options.verifySsl, allowH2: false }
  const impatient = buildConnector({ ...shared, timeout: IMPATIENT_MS })
  const patient = buildConnector({ ...shared, timeout: PATIENT_MS })

  async function open(wanted: buildConnector.Options, line: Line): Promise<Socket> {
    const addresses = await judged(options.guard, wanted.hostname)
    for (const [index, address] of addresses.entries()) {
      const isLast = index === addresses.length - 1
      try {
        const socket = await connectTo({ ...wanted, hostname: address }, isLast ? patient : impatient)
        line.address = address
        return socket
      } catch (error) {
        if (isLast || !isWorthAnotherAddress(error)) throw connectFault(error, wanted, address)
      }
    }
    throw new SendFault('unreachable', `The name ${wanted.hostname} has no address.`)
  }

  async function connectTo(wanted: buildConnector.Options, connect: typeof patient): Promise<Socket> {
    if (options.openings.isClosed) throw new SendFault('unreachable', 'Gantry is stopping.')
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    // The types do not say so, but the documentation does: the socket is also returned.
    const socket = connect(wanted, (error, connected) =>
      error ? reject(error) : resolve(connected!),
    ) as unknown as Socket
    options.openings.sockets.add(socket)
    try {
      await promise
    } finally {
      options.openings.sockets.delete(socket)
    }
    if (isSameAddress(socket.remoteAddress, wanted.hostname)) return socket
    socket.on('error', () => {}).destroy()
    throw new SendFault('blocked', `The connection did not lead to ${wanted.hostname}.`)
  }

  return (line) => (wanted, done) => {
    open(wanted, line).then(
      (socket) => done(null, socket),
      (error: Error) => done(error, null),
    )
  }
}

async function judged(guard: AddressGuard, host: string): Promise<string[]> {
  const verdict = await guard.check(host)
  switch (verdict.kind) {
    case 'allowed':
      return verdict.addresses.slice(0, MOST_ADDRESSES)
    case 'refused':
      throw new SendFault('blocked', verdict.message)
    case 'unreachable':
      throw new SendFault('unreachable', verdict.message)
  }
}
