// A network link to a port on this machine, which can be cut, or lose what is under way.

import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'
import { later } from './later.ts'

type Closer = { after(fn: () => Promise<void>): void }

type Connection = { near: Socket; far: Socket; kept: Buffer[]; isHeld: boolean }

export async function openLink(t: Closer, to: number) {
  const connections = new Set<Connection>()
  const accept = (near: Socket) => {
    const connection: Connection = { near, far: connect(to, '127.0.0.1'), kept: [], isHeld: false }
    const { far, kept } = connection
    connections.add(connection)
    for (const socket of [near, far]) socket.on('error', () => {})
    near.on('close', () => connection.isHeld || far.destroy())
    far.on('close', () => {
      connections.delete(connection)
      near.destroy()
    })
    near.on('data', (chunk: Buffer) => {
      if (connection.isHeld) kept.push(chunk)
      else if (!far.write(chunk)) near.pause()
    })
    far.on('drain', () => near.resume())
    near.on('end', () => connection.isHeld || far.end())
    far.pipe(near)
  }
  const listen = async (port: number): Promise<Server> => {
    const server = createServer(accept).listen(port, '127.0.0.1')
    await once(server, 'listening')
    return server
  }
  let server = await listen(0)
  const { port } = server.address() as { port: number }
  const cut = async () => {
    const closed = once(server, 'close')
    server.close()
    for (const { near } of connections) near.destroy()
    await closed
  }
  later(t, async () => {
    if (server.listening) await cut()
    for (const { far } of connections) far.destroy()
  })
  return {
    port,
    /** Ends what is connected, and refuses what comes. */
    cut,
    restore: async () => {
      server = await listen(port)
    },
    /** Of what is connected now, nothing that is sent arrives, until it is delivered: also when its sender is dead. */
    hold() {
      const held = [...connections].filter(({ isHeld }) => !isHeld)
      for (const connection of held) connection.isHeld = true
      return {
        /** How many bytes are under way. */
        bytes: () => held.flatMap(({ kept }) => kept).reduce((sum, { length }) => sum + length, 0),
        /** Resolves when something was answered. The connections stay open. */
        async deliver(): Promise<void> {
          const answered = held.map(({ far, kept }) => {
            far.unpipe()
            const first = once(far, 'data')
            far.resume()
            for (const chunk of kept) far.write(chunk)
            return first
          })
          await Promise.all(answered)
        },
        drop: () => {
          for (const { far } of held) far.destroy()
        },
      }
    },
    /** Of what is connected now, no answer arrives; `drop` ends it. */
    mute() {
      const muted = [...connections].filter(({ isHeld }) => !isHeld)
      for (const { far, near } of muted) {
        far.unpipe(near)
        far.pause()
      }
      return {
        drop: () => {
          for (const { far } of muted) far.destroy()
        },
      }
    },
  }
}
