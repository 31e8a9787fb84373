// A proxy in front of PostgreSQL that can go silent: connections stay open, and nothing passes any more.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import type { ConnectionSettings } from '#platform/database/connect.ts'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type SilentProxy = {
  port: number
  /** Connections of now say nothing any more; new ones work, unless `forNewOnes`. */
  silence(options?: { forNewOnes?: boolean }): void
  /** What is sent still arrives; only the answers are lost. */
  loseAnswers(): void
  /** Nothing passes any more until the returned function is called; nothing is lost. */
  stall(): () => void
  /** New connections work again. Those that went silent stay so. */
  heal(): void
  /** How many connections their clients have reset. */
  resets(): number
}

export async function startSilentProxy(t: Closer, target: ConnectionSettings): Promise<SilentProxy> {
  const pairs = new Set<{ client: Socket; server: Socket }>()
  let isSilent = false
  let isStalled = false
  let resets = 0
  const { host = '', port = 5432 } = target
  const address = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port }
  const listener = createServer((client) => {
    const server = connect(address)
    const pair = { client, server }
    pairs.add(pair)
    client.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNRESET') resets += 1
    })
    server.on('error', () => {})
    if (isSilent) return
    if (!isStalled) join(pair)
    const stop = (other: Socket) => () => {
      pairs.delete(pair)
      if (!other.isPaused()) other.destroy()
    }
    client.on('close', stop(server))
    server.on('close', stop(client))
  })
  listener.listen(0, '127.0.0.1')
  await once(listener, 'listening')
  later(t, async () => {
    for (const { client, server } of pairs) {
      client.destroy()
      server.destroy()
    }
    listener.close()
  })
  const join = ({ client, server }: { client: Socket; server: Socket }) => {
    client.pipe(server)
    server.pipe(client)
  }
  const stopReading = (socket: Socket) => {
    socket.unpipe()
    socket.pause()
  }
  return {
    port: (listener.address() as AddressInfo).port,
    silence({ forNewOnes = false } = {}) {
      isSilent = forNewOnes
      for (const { client, server } of pairs) for (const socket of [client, server]) stopReading(socket)
    },
    loseAnswers() {
      for (const { server } of pairs) stopReading(server)
    },
    stall() {
      isStalled = true
      for (const { client, server } of pairs) for (const socket of [client, server]) stopReading(socket)
      return () => {
        isStalled = false
        for (const pair of pairs) join(pair)
      }
    },
    heal() {
      isSilent = false
    },
    resets: () => resets,
  }
}
