import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import type { Purpose } from './attempts.ts'
import type { Flow } from './flow.ts'

export const destination = t.Exactly(
  {
    url: t.Text(
      "For the browser to open: the provider's sign-in page or, when the provider is not available, the page of Gantry that says so.",
    ),
  },
  { title: 'BrowserDestination' },
)

/** Begins a sign-in at the provider; sets its cookie. */
export async function begin(
  flow: Flow | null,
  request: FastifyRequest,
  reply: FastifyReply,
  purpose: Purpose,
): Promise<t.Static<typeof destination>> {
  if (!flow) throw new ApiError('not_found', 'Single sign-on is not configured.')
  const begun = await flow.begin(request, purpose)
  switch (begun.kind) {
    case 'begun':
      reply.header('set-cookie', begun.cookie)
      return { url: begun.url }
    case 'too-many':
      throw new ApiError('too_many_requests', 'Too many unfinished sign-ins; wait before you try again.', {
        headers: { 'retry-after': '600' },
      })
    case 'unavailable':
      return { url: begun.page }
  }
}
