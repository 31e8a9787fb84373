// A git server on a loopback port: git's own http-backend behind a small HTTP server that requires a password.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { later } from '#test/support/later.ts'

type Closer = { after(fn: () => Promise<void>): void }

export type GitServer = {
  /** Without a slash at the end. */
  url: string
  port: number
  /** `GET /shop.git/info/refs?service=git-upload-pack`, in the order of arrival. */
  requests: string[]
}

export async function serveGit(
  t: Closer,
  options: {
    /** Whose folders are repositories. */
    folder: string
    password?: { username: string; secret: string }
    /** Before git sees the request. True: it was answered here. */
    before?(request: IncomingMessage, response: ServerResponse): Promise<boolean> | boolean
  },
): Promise<GitServer> {
  const requests: string[] = []
  const server = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url}`)
    if (await options.before?.(request, response)) return
    if (options.password && request.headers.authorization !== basic(options.password)) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end()
      return
    }
    answer(options.folder, request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  later(t, async () => {
    server.closeAllConnections()
    server.close()
    await once(server, 'close')
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, port, requests }
}

function basic({ username, secret }: { username: string; secret: string }): string {
  return `Basic ${Buffer.from(`${username}:${secret}`).toString('base64')}`
}

function answer(folder: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url!, 'http://127.0.0.1')
  const backend = spawn('git', ['http-backend'], {
    env: {
      PATH: process.env.PATH,
      GIT_CONFIG_NOSYSTEM: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      GIT_PROJECT_ROOT: folder,
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_PROTOCOL: text(request.headers['git-protocol']),
      REQUEST_METHOD: request.method,
      PATH_INFO: decodeURIComponent(url.pathname),
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: text(request.headers['content-type']),
      HTTP_CONTENT_ENCODING: text(request.headers['content-encoding']),
    },
  })
  response.once('close', () => backend.kill())
  request.pipe(backend.stdin.on('error', () => {}))
  backend.stderr.resume()
  passOn(backend, response)
}

/** CGI: header lines, an empty line, the body. */
function passOn(backend: ChildProcessWithoutNullStreams, response: ServerResponse): void {
  let head = Buffer.alloc(0)
  backend.stdout.on('data', function readHead(chunk: Buffer) {
    head = Buffer.concat([head, chunk])
    const end = head.indexOf('\r\n\r\n')
    if (end === -1) return
    backend.stdout.off('data', readHead)
    const headers = head.subarray(0, end).toString().split('\r\n')
    for (const line of headers) {
      const [name, value] = line.split(': ', 2)
      if (name === 'Status') response.statusCode = Number.parseInt(value!, 10)
      else response.setHeader(name!, value!)
    }
    response.write(head.subarray(end + 4))
    backend.stdout.pipe(response)
  })
}

function text(header: string | string[] | undefined): string {
  return header?.toString() ?? ''
}
