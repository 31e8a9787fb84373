import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import { ApiError, type ErrorCode, errorBody } from './errors.ts'

const CAUSES: Record<string, [ErrorCode, string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: ['request_timeout', 'The request did not arrive in time.'],
  HPE_HEADER_OVERFLOW: ['headers_too_large', 'The headers of the request are too large.'],
}

/** Requests that are not HTTP, or never end: they meet no route, but the answer has the usual form. */
export function replyToBrokenConnection(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [code, message] = CAUSES[error.code ?? ''] ?? ['malformed', 'This is not a valid HTTP request.']
  const refusal = new ApiError(code, message)
  const requestId = randomUUID()
  const body = JSON.stringify(errorBody(refusal, requestId))
  const head = [
    `HTTP/1.1 ${refusal.status} ${message}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${requestId}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
