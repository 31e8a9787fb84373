import { addAbortSignal, Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { reasonOf } from '#platform/database/error-code.ts'
import { unlessStalled } from '#platform/http/stalled-clients.ts'

/** A client that reads nothing for this long is disconnected; it can continue after the last entry it got. */
const STALL_MS = 60_000

/** Downloads of unknown length, read from their source at the speed of the client. All of them end with the process. */
export function createDownloads() {
  const closing = new AbortController()

  async function* reportingEnd(reply: FastifyReply, parts: AsyncGenerator<string>): AsyncGenerator<string> {
    try {
      yield* parts
    } catch (error) {
      // The response has begun: it can only be cut off, and nothing else would say why.
      reply.log.warn(reasonOf(error), 'export ended early')
      throw error
    }
  }

  return {
    start(reply: FastifyReply, parts: AsyncGenerator<string>): Readable {
      const lines = unlessStalled(reply.raw, reportingEnd(reply, parts), STALL_MS)
      return addAbortSignal(closing.signal, Readable.from(lines, { objectMode: false, highWaterMark: 1 }))
    },
    close: () => closing.abort(),
  }
}
