import type { FastifyInstance, FastifyRequest } from 'fastify'

/**
 * One wide line per request, and its id on the answer. The route is logged, not the address: an address
 * can carry the token of a hook.
 */
export function logRequests(
  app: FastifyInstance,
  callerId: (request: FastifyRequest) => number | null,
): void {
  app.addHook('onRequest', async (request, reply) => {
    reply.header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    request.log.info(
      {
        method: request.method,
        route: request.routeOptions.url ?? null,
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
        ip: request.ip,
        user_id: callerId(request),
      },
      'request',
    )
  })
}
