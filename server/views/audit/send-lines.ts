import { addAbortSignal, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { reasonOf } from '#platform/database/error-code.ts'

/** A client that reads nothing for this long is disconnected; it can continue after the last entry it got. */
const STALL_MS = 60_000

/** Downloads of unknown length, read from their source at the speed of the client. All of them end with the process. */
export function createDownloads() {
  const closing = new AbortController()

  async function* unlessStalled(reply: FastifyReply, parts: AsyncGenerator<string>): AsyncGenerator<string> {
    try {
      for await (const part of parts) {
        const timer = setTimeout(() => reply.raw.destroy(), STALL_MS)
        try {
          yield part
        } finally {
          clearTimeout(timer)
        }
      }
    } catch (error) {
      // The response has begun: it can only be cut off, and nothing else would say why.
      reply.log.warn(reasonOf(error), 'export ended early')
      throw error
    }
  }

  return {
    start(reply: FastifyReply, parts: AsyncGenerator<string>): Readable {
      return addAbortSignal(
        closing.signal,
        Readable.from(unlessStalled(reply, parts), { objectMode: false, highWaterMark: 1 }),
      )
    },
    close: () => closing.abort(),
  }
}
