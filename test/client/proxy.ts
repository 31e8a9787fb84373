// A TCP proxy in front of the service whose connections break.
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export type TestProxy = {
  url: string
  /** How many connections were opened. */
  connections(): number
  /** How many pieces of responses have passed. */
  chunks(): number
  /** Cuts each connection when this many bytes of responses have passed, wherever that is. */
  cutAfter(bytes: number): void
  /** Connections that are open now stay open, and nothing passes through them anymore. */
  stall(): void
  /** Cuts every connection. */
  cut(): void
  /** Refuses connections until `open` is called. */
  close(): Promise<void>
  open(): Promise<void>
}

type Closer = { after(fn: () => Promise<void>): void }

export async function openProxy(t: Closer, target: string): Promise<TestProxy> {
  const pairs = new Set<[Socket, Socket]>()
  let limit = Number.POSITIVE_INFINITY
  let opened = 0
  let chunks = 0
  let port = 0
  const server = createServer((client) => {
    const service = connect(Number(new URL(target).port), '127.0.0.1')
    const pair: [Socket, Socket] = [client, service]
    const sockets = new Set(pair)
    pairs.add(pair)
    opened += 1
    let passed = 0
    service.on('data', (bytes: Buffer) => {
      client.write(bytes.subarray(0, limit - passed))
      passed += bytes.length
      chunks += 1
      if (passed >= limit) end()
    })
    client.on('data', (bytes) => service.write(bytes))
    function end(): void {
      pairs.delete(pair)
      // What was written is still sent: the cut comes after these bytes, not before.
      client.destroySoon()
      service.destroy()
    }
    for (const socket of sockets) socket.on('close', end).on('error', end)
  })

  const proxy: TestProxy = {
    get url() {
      return `http://127.0.0.1:${port}`
    },
    connections: () => opened,
    chunks: () => chunks,
    cutAfter(bytes) {
      limit = bytes
    },
    stall() {
      for (const [client, service] of pairs) {
        service.pause()
        client.pause()
      }
    },
    cut() {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
    },
    async close() {
      if (!server.listening) return
      const closed = once(server, 'close')
      server.close()
      proxy.cut()
      await closed
    },
    async open() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
      port = (server.address() as AddressInfo).port
    },
  }
  await proxy.open()
  t.after(() => proxy.close())
  return proxy
}
