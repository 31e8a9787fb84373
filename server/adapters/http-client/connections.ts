import { Agent, type Dispatcher, Pool } from 'undici'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import { createConnector, type Openings } from './connector.ts'
import { SendFault } from './faults.ts'
import { type Line, LineClient } from './line.ts'

export type Connections = { agent: Dispatcher; close(): Promise<void> }

const MOST_PER_ORIGIN = 64
const IDLE_MS = 10_000
const MOST_HEADER_BYTES = 16 * 1024

/**
 * Connections that are kept for the next request to the same origin. Whether certificates are verified is a
 * property of the connection, so each choice has connections of its own. HTTP/1.1 only and one request at a
 * time: then a bad answer spoils one request, and a line is its socket.
 */
export function openConnections(options: { guard: AddressGuard; verifySsl: boolean }): Connections {
  const openings: Openings = { sockets: new Set(), isClosed: false }
  const connectorOf = createConnector({ ...options, openings })
  const agent = new Agent({
    connections: MOST_PER_ORIGIN,
    pipelining: 1,
    allowH2: false,
    keepAliveTimeout: IDLE_MS,
    keepAliveMaxTimeout: IDLE_MS,
    maxHeaderSize: MOST_HEADER_BYTES,
    // The exchange has one clock for everything.
    headersTimeout: 0,
    bodyTimeout: 0,
    factory: (origin, poolOptions) =>
      new Pool(origin, {
        ...poolOptions,
        factory: (url, clientOptions) => {
          const line: Line = { address: null }
          return new LineClient(url, { ...clientOptions, connect: connectorOf(line) }, line)
        },
      }),
  })
  return {
    agent,
    async close() {
      const reason = new SendFault('unreachable', 'Gantry is stopping.')
      openings.isClosed = true
      await agent.destroy(reason)
      for (const socket of openings.sockets) socket.destroy(reason)
    },
  }
}
