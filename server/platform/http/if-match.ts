import type { FastifyRequest } from 'fastify'

/** The version of a record that the caller last saw, if given; `*` matches any version. */
export function readIfMatch(request: FastifyRequest): string | undefined {
  const text = request.headers['if-match']?.trim()
  if (text === undefined || text === '*') return undefined
  return text.replace(/^"(.*)"$/, '$1')
}

/** True when the caller saw another version than the stored one. Call it with the record locked, or it may still change. */
export function isOutdated(ifMatch: string | undefined, version: string): boolean {
  return ifMatch !== undefined && ifMatch !== version
}
