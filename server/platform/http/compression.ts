import { promisify } from 'node:util'
import { brotliCompress, constants, gzip, zstdCompress } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { acceptedEncodings } from './encodings.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Its responses may be compressed. Never for what contains secrets, tokens or text of third parties next to them: the
     * length of a compressed response reveals what it repeats (BREACH).
     */
    compress?: boolean
  }
}

/** Less fits into one packet anyway. */
const MIN_BYTES = 1_024

/**
 * The fastest settings, in the thread pool. Actions repeat much: 560 kB of them take zstd 0.4 ms and become 9 kB. Better
 * settings of brotli take ten times as long to halve that.
 */
const ENCODERS = {
  zstd: (bytes: Buffer) =>
    promisify(zstdCompress)(bytes, {
      params: { [constants.ZSTD_c_compressionLevel]: 1 },
      pledgedSrcSize: bytes.length,
      chunkSize: 64 * 1024,
    }),
  br: (bytes: Buffer) =>
    promisify(brotliCompress)(bytes, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
      chunkSize: 64 * 1024,
    }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 1, chunkSize: 64 * 1024 }),
}

/** Best first. */
const PREFERRED = ['zstd', 'br', 'gzip'] as const

/** Compresses what routes with `compress` return, for callers that accept it. Other routes are not slowed down. */
export function installCompression(app: FastifyInstance): void {
  app.addHook('onRoute', (route) => {
    // First: the hook that Fastify adds for HEAD measures and drops the body.
    if (route.config?.compress) route.onSend = [compress, ...[route.onSend ?? []].flat()]
  })
}

async function compress(request: FastifyRequest, reply: FastifyReply, payload: unknown): Promise<unknown> {
  const vary = reply.getHeader('vary')
  reply.header('vary', vary === undefined ? 'Accept-Encoding' : `${vary}, Accept-Encoding`)
  const bytes = typeof payload === 'string' ? Buffer.from(payload) : payload
  if (!Buffer.isBuffer(bytes) || bytes.length < MIN_BYTES || reply.hasHeader('content-encoding'))
    return payload
  const accepted = acceptedEncodings(request.headers['accept-encoding'])
  const encoding = PREFERRED.find((one) => accepted.has(one))
  if (encoding === undefined) return bytes
  reply.removeHeader('content-length')
  reply.header('content-encoding', encoding)
  return ENCODERS[encoding](bytes)
}
