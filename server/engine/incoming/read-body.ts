import type { IncomingMessage } from 'node:http'
import { ApiError } from '#platform/http/errors.ts'

type Done = (error: Error | null, body?: Buffer) => void

const tooLarge = () => new ApiError('too_large', 'The body is larger than this route accepts.')

/**
 * The bytes of a call. Fastify's own parsers copy every body; here one that arrives in one piece, as most do, is taken as
 * it is. Errors of the connection have the status 400, like those of Fastify.
 */
export function readBody(stream: IncomingMessage, maxBytes: number, done: Done): void {
  if (Number(stream.headers['content-length']) > maxBytes) {
    done(tooLarge())
    return
  }
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    chunks.push(chunk)
    if (bytes > maxBytes) finish(tooLarge())
  }
  const onEnd = () => finish(null)
  const onError = (error: Error) => finish(Object.assign(error, { statusCode: 400 }))
  const finish = (error: Error | null) => {
    stream.off('data', onData).off('end', onEnd).off('error', onError)
    if (error) done(error)
    else done(null, chunks.length === 1 ? chunks[0] : Buffer.concat(chunks, bytes))
  }
  stream.on('data', onData).on('end', onEnd).on('error', onError)
}
