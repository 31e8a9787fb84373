import type { FastifyReply, FastifyRequest } from 'fastify'
import { invalid } from '#platform/http/errors.ts'
import { EVENT_STREAM } from './schemas.ts'

/** Where the client resumes; undefined when it does not. An empty value counts as absent. */
export function readLastEventId<Cursor>(
  { headers }: FastifyRequest,
  decode: (text: string) => Cursor | undefined,
): Cursor | undefined {
  const text = headers['last-event-id']
  return typeof text === 'string' && text !== '' ? (decode(text) ?? rejectLastEventId()) : undefined
}

/** Not ignored: a client that believes it resumes would miss what happened in between. */
export function rejectLastEventId(): never {
  throw invalid({ 'last-event-id': ['must be the id of an event of this stream'] })
}

/** Neither caches nor buffering proxies such as nginx may hold a stream back. */
export function setStreamHeaders(reply: FastifyReply): FastifyReply {
  return reply.type(EVENT_STREAM).header('x-accel-buffering', 'no')
}

export function onAbort(signal: AbortSignal, call: () => void): void {
  if (signal.aborted) call()
  else signal.addEventListener('abort', call, { once: true })
}
