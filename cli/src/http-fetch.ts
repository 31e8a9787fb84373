import { request as overHttp } from 'node:http'
import { request as overHttps } from 'node:https'
import { Readable } from 'node:stream'

const WITHOUT_BODY = [204, 205, 304]

/** `fetch` by Node's http module: before its first request, Node 20's own compiles for longer than most commands take. */
export async function httpFetch(request: Request): Promise<Response> {
  const url = new URL(request.url)
  const body = request.body === null ? undefined : Buffer.from(await request.arrayBuffer())
  const { method, signal } = request
  const headers = Object.fromEntries(request.headers)
  return new Promise((resolve, reject) => {
    const send = url.protocol === 'https:' ? overHttps : overHttp
    const sent = send(url, { method, headers, signal }, (answer) => {
      const status = answer.statusCode!
      const hasBody = method !== 'HEAD' && !WITHOUT_BODY.includes(status)
      if (!hasBody) answer.resume()
      const content = hasBody ? (Readable.toWeb(answer) as ReadableStream) : null
      resolve(new Response(content, { status, headers: headersOf(answer.rawHeaders) }))
    })
    sent.on('error', reject)
    sent.end(body)
  })
}

function headersOf(raw: readonly string[]): Headers {
  const headers = new Headers()
  for (let at = 0; at < raw.length; at += 2) headers.append(raw[at]!, raw[at + 1]!)
  return headers
}
