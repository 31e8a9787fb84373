import type { Socket } from 'node:net'
import { Agent, buildConnector, Client, type Dispatcher, Pool } from 'undici'
import { isSameAddress } from '#platform/addresses/check-address.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { connectError, isWorthAnotherAddress, RequestError } from './errors.ts'
import { createFairSlots } from './fair-slots.ts'

/** The address at the other end of a connection. */
export type Peer = { address: string | null }

export type ExchangeHandler = Dispatcher.DispatchHandler & {
  peer: Peer
  /** Nobody waits for the request any more. */
  isOver(): boolean
  /** The request will not be sent. */
  abandon(): void
  /** Called once, when the connection is free again. */
  onFree: () => void
}

/** A hook that is alone gets three quarters of them, no fewer than the deliveries that are sent to it at the same time. */
const CONNECTIONS_PER_ORIGIN = 86
/** With one each for those that would have to wait for connections that others hold. */
const MAX_CONNECTIONS_PER_ORIGIN = 128
const IDLE_MS = 10_000
const MAX_HEADER_BYTES = 16 * 1024
/** While another address is left to try, one that does not answer is abandoned soon. */
const FIRST_ADDRESSES_TIMEOUT_MS = 3_000
/** The longest timeout that a request may have: the exchange ends it earlier. */
const LAST_ADDRESS_TIMEOUT_MS = 30_000
const MAX_ADDRESSES = 8

/**
 * Keep-alive connections per origin. Whether certificates are verified is a property of the connection, so each
 * choice has its own. HTTP/1.1 only and one request at a time: then a bad response spoils one request.
 */
export function openConnections(options: { guard: AddressGuard; verifySsl: boolean }) {
  const opening = new Set<Socket>()
  let isClosed = false
  const connectors = [FIRST_ADDRESSES_TIMEOUT_MS, LAST_ADDRESS_TIMEOUT_MS].map((timeout) =>
    buildConnector({ rejectUnauthorized: options.verifySsl, allowH2: false, timeout }),
  )

  /**
   * Connects to the very addresses that the guard has allowed, and consults it for each connection: neither a literal
   * nor a name that changes between two lookups leads elsewhere. The name is used for the certificate only.
   */
  async function connect(wanted: buildConnector.Options, peer: Peer): Promise<Socket> {
    const addresses = await allowedAddresses(options.guard, wanted.hostname)
    for (const [index, address] of addresses.entries()) {
      const isLast = index === addresses.length - 1
      try {
        const socket = await connectTo({ ...wanted, hostname: address }, connectors[isLast ? 1 : 0]!)
        peer.address = address
        return socket
      } catch (error) {
        if (isLast || !isWorthAnotherAddress(error)) throw connectError(error, wanted, address)
      }
    }
    throw new RequestError('unreachable', `The name ${wanted.hostname} has no address.`)
  }

  async function connectTo(wanted: buildConnector.Options, connector: buildConnector.connector) {
    if (isClosed) throw new RequestError('unreachable', STOPPING)
    const { promise, resolve, reject } = Promise.withResolvers<Socket>()
    // Missing in the types, but documented: the socket is also returned.
    const socket = connector(wanted, (error, connected) =>
      error ? reject(error) : resolve(connected!),
    ) as unknown as Socket
    opening.add(socket)
    await promise.finally(() => opening.delete(socket))
    if (isSameAddress(socket.remoteAddress, wanted.hostname)) return socket
    socket.on('error', () => {}).destroy()
    throw new RequestError('blocked', `The connection did not lead to ${wanted.hostname}.`)
  }

  const agent = new Agent({
    connections: MAX_CONNECTIONS_PER_ORIGIN,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MAX_HEADER_BYTES,
    // The exchange has one timer for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: (origin, poolOptions) =>
      new Pool(origin, {
        ...poolOptions,
        factory: (url, clientOptions) => {
          const peer: Peer = { address: null }
          const connecting: buildConnector.connector = (wanted, done) => {
            connect(wanted, peer).then(
              (socket) => done(null, socket),
              (error: Error) => done(error, null),
            )
          }
          return new TrackedClient(url, { ...clientOptions, connect: connecting }, peer)
        },
      }),
  })
  const slots = createFairSlots({ shared: CONNECTIONS_PER_ORIGIN, most: MAX_CONNECTIONS_PER_ORIGIN })
  return {
    /** Sends the request when a connection is free. Those who share an origin share its connections fairly. */
    dispatch(
      request: Dispatcher.DispatchOptions & { origin: string },
      sharer: string,
      handler: ExchangeHandler,
    ): void {
      slots.enter(request.origin, sharer, () => {
        if (handler.isOver()) return false
        handler.onFree = () => slots.leave(request.origin, sharer)
        agent.dispatch(request, handler)
        return true
      })
    },
    async close(): Promise<void> {
      const reason = new RequestError('unreachable', STOPPING)
      isClosed = true
      slots.close()
      await agent.destroy(reason)
      for (const socket of opening) socket.destroy(reason)
    },
  }
}

const STOPPING = 'Gantry is stopping.'

async function allowedAddresses(guard: AddressGuard, host: string): Promise<string[]> {
  const verdict = await guard.check(host)
  if (verdict.kind === 'allowed') return verdict.addresses.slice(0, MAX_ADDRESSES)
  throw new RequestError(verdict.kind === 'refused' ? 'blocked' : 'unreachable', verdict.message)
}

/**
 * Shows each request its peer, which undici does not expose. Skips a request that is over when its
 * turn comes, instead of costing the receiver a connection that is then thrown away.
 */
class TrackedClient extends Client {
  readonly #peer: Peer

  constructor(url: string | URL, options: Client.Options, peer: Peer) {
    super(url, options)
    this.#peer = peer
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    const exchange = handler as ExchangeHandler
    if (exchange.isOver()) {
      exchange.abandon()
      // True: this client can take another.
      return true
    }
    exchange.peer = this.#peer
    return super.dispatch(options, handler)
  }
}
