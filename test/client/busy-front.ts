// A load balancer in front of the service that rejects requests before it forwards any.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Rejection =
  | { status: number; headers?: Record<string, string>; body?: string }
  /** Resets the connection; `forwarding`: after the service has handled the request. */
  | { reset: true; forwarding?: boolean }

type Closer = { after(fn: () => Promise<void>): void }

export async function openBusyFront(t: Closer, target: string) {
  let rejections: Rejection[] = []
  let requests = 0

  async function forward(request: IncomingMessage): Promise<Response> {
    const { host, connection, 'content-length': _, ...headers } = request.headers as Record<string, string>
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = chunks.length > 0 ? Buffer.concat(chunks) : undefined
    // `fetch` decodes: what is passed on must not say that it is still encoded.
    headers['accept-encoding'] = 'identity'
    return fetch(target + request.url, { method: request.method!, headers, body })
  }

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    requests += 1
    const rejection = rejections.shift()
    if (rejection && 'status' in rejection) {
      const { status, headers, body = '{}' } = rejection
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body)
      return
    }
    if (rejection && !rejection.forwarding) return request.socket.resetAndDestroy() as never
    const forwarded = await forward(request)
    const body = Buffer.from(await forwarded.arrayBuffer())
    if (rejection) return request.socket.resetAndDestroy() as never
    response.writeHead(forwarded.status, Object.fromEntries(forwarded.headers)).end(body)
  }

  const server = createServer((request, response) => void handle(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** The next requests get these; those after them are forwarded. */
    reject(...next: Rejection[]) {
      rejections = next
      requests = 0
    },
    requests: () => requests,
  }
}
