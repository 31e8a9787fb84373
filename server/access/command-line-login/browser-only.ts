import type { FastifyRequest } from 'fastify'
import { isByCookie } from '#access/authorization/enforce.ts'
import { ApiError } from '#platform/http/errors.ts'

/** The approval of a person, on a page that shows what it gives: no program can approve itself. */
export async function requireBrowser(request: FastifyRequest): Promise<void> {
  if (!isByCookie(request))
    throw new ApiError('forbidden', 'Approve the login on the page that gantry login opens in your browser.')
}
