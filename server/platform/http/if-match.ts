import type { FastifyReply, FastifyRequest } from 'fastify'

/** The version of a record that the caller last saw, when they said so; `*` is as good as saying nothing. */
export function readIfMatch(request: FastifyRequest): string | undefined {
  const text = request.headers['if-match']?.trim()
  if (text === undefined || text === '*') return undefined
  return text.replace(/^"(.*)"$/, '$1')
}

/** The caller has seen another version than the stored one: ask while the record is held, or it may change after all. */
export function isOutdated(ifMatch: string | undefined, version: string): boolean {
  return ifMatch !== undefined && ifMatch !== version
}

/** Tells the caller which version of a record the answer shows. */
export function sendWithETag(reply: FastifyReply, version: string): FastifyReply {
  return reply.header('etag', `"${version}"`)
}
