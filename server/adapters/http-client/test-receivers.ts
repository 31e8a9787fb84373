import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import type { TestContext } from 'node:test'
import { createAddressGuard } from '#platform/addresses/guard.ts'
import type { Lookup } from '#platform/addresses/resolve.ts'
import { createHttpClient, type HttpClient, type SendRequest } from './client.ts'

export type Receiver = {
  url: string
  port: number
  /** Every connection there ever was. */
  connections: Socket[]
  /** The head and body of each request. */
  requests: string[]
}

/** Something on loopback that answers however a test wants, HTTP or not. Gone when the test is. */
export async function openReceiver(
  t: TestContext,
  answer: (socket: Socket, request: string) => void,
): Promise<Receiver> {
  const receiver: Receiver = { url: '', port: 0, connections: [], requests: [] }
  const server = createServer((socket) => {
    receiver.connections.push(socket)
    let text = ''
    socket.on('error', () => {})
    socket.on('data', (chunk) => {
      text += chunk.toString('latin1')
      const request = wholeRequest(text)
      if (request === undefined) return
      text = text.slice(request.length)
      receiver.requests.push(request)
      answer(socket, request)
    })
  })
  receiver.port = await listen(t, server, receiver.connections)
  receiver.url = `http://127.0.0.1:${receiver.port}/`
  return receiver
}

/** Listens on loopback until the test is over; returns the port. */
export async function listen(t: TestContext, server: Server, connections: Socket[]): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    for (const socket of connections) socket.destroy()
    server.close()
    await once(server, 'close')
  })
  return (server.address() as { port: number }).port
}

/** Waits until nothing is left of a connection, however it ended. */
export async function closed(socket: Socket): Promise<void> {
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve))
}

function wholeRequest(text: string): string | undefined {
  const end = text.indexOf('\r\n\r\n')
  if (end === -1) return undefined
  const length = Number(/^content-length: (\d+)/im.exec(text)?.[1] ?? 0)
  return text.length < end + 4 + length ? undefined : text.slice(0, end + 4 + length)
}

/** An HTTP answer; `more` are header lines. */
export function http(status: number, body = '', ...more: string[]): string {
  return [`HTTP/1.1 ${status} Whatever`, `content-length: ${body.length}`, ...more, '', body].join('\r\n')
}

/** A sender of a Gantry at `baseUrl`: on loopback, others on loopback may be called. */
export function openSender(
  t: TestContext,
  options: { baseUrl?: string; lookup?: Lookup; allowTargets?: string[] } = {},
): HttpClient {
  const { baseUrl = 'http://127.0.0.1:7070', lookup, allowTargets = [] } = options
  const guard = createAddressGuard({ allowTargets, baseUrl: () => baseUrl, lookup })
  const sender = createHttpClient({ guard, userAgent: 'Gantry/test' })
  t.after(() => sender.close())
  return sender
}

/** A request that has time enough on the slowest machine. */
export function post(url: string, more: Partial<SendRequest> = {}): SendRequest {
  const headers = { 'content-type': 'application/json' }
  return {
    method: 'POST',
    url,
    headers,
    body: Buffer.from('{"a":1}'),
    timeoutMs: 30_000,
    verifySsl: true,
    ...more,
  }
}
