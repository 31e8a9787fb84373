import type { FastifyReply, FastifyRequest } from 'fastify'
import { type ApiError, invalid } from '#platform/http/errors.ts'
import { EVENT_STREAM } from './schemas.ts'

/** An empty value counts as absent. */
export function lastEventId({ headers }: FastifyRequest): string | undefined {
  const text = headers['last-event-id']
  return typeof text === 'string' && text !== '' ? text : undefined
}

/** Not ignored: a client that believes it resumes would miss what happened in between. */
export function invalidLastEventId(): ApiError {
  return invalid({ 'last-event-id': ['must be the id of an event of this stream'] })
}

/** Neither caches nor buffering proxies such as nginx may hold a stream back. */
export function setStreamHeaders(reply: FastifyReply): FastifyReply {
  return reply.type(EVENT_STREAM).header('x-accel-buffering', 'no')
}

export function onAbort(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call()
  else signal.addEventListener('abort', call, { once: true })
}
