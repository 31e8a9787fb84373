import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings } from './encodings.ts'

// What is the same for everybody, and is kept in memory in all encodings.

/** A file in the encodings in which it can be sent, best first. */
export type StaticFile = {
  type: string
  /** Its name changes with its content, so it may be cached forever. */
  isHashed: boolean
  encodings: EncodedFile[]
}

export type EncodedFile = { encoding: 'br' | 'gzip' | null; bytes: Buffer; etag: string }

const compress = { br: promisify(brotliCompress), gzip: promisify(gzip) }
/** Files are compressed when they are first read: nearly as small as with 11, in a fraction of the time. */
const BROTLI_QUALITY = 6

/** Its name does not change with its content. */
export async function toFile(bytes: Buffer, type: string): Promise<StaticFile> {
  const [br, gz] = await Promise.all([
    compress.br(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY } }),
    compress.gzip(bytes),
  ])
  return {
    type,
    isHashed: false,
    encodings: [encodedFile('br', br), encodedFile('gzip', gz), encodedFile(null, bytes)],
  }
}

export function encodedFile(encoding: EncodedFile['encoding'], bytes: Buffer): EncodedFile {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 27)
  return { encoding, bytes, etag: `"${digest}"` }
}

export function sendFile(request: FastifyRequest, reply: FastifyReply, file: StaticFile): FastifyReply {
  const encoded = chooseEncoding(file.encodings, request.headers['accept-encoding'])
  reply
    .header('etag', encoded.etag)
    .header('vary', 'Accept-Encoding')
    .header('cache-control', file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
  if (isCached(encoded, request.headers['if-none-match'])) return reply.code(304).send()
  if (encoded.encoding !== null) reply.header('content-encoding', encoded.encoding)
  return reply.type(file.type).send(encoded.bytes)
}

/** The best encoding that the client accepts; the plain file when in doubt. Pure. */
export function chooseEncoding(encodings: readonly EncodedFile[], acceptEncoding: string | undefined) {
  const accepted = acceptedEncodings(acceptEncoding)
  return encodings.find(({ encoding }) => encoding === null || accepted.has(encoding))!
}

/** Whether the client already has this encoding of the file (If-None-Match). Pure. */
export function isCached({ etag }: EncodedFile, ifNoneMatch: string | undefined): boolean {
  const known = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return known.includes('*') || known.includes(etag)
}
