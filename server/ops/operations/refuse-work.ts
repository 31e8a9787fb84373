import type { FastifyInstance } from 'fastify'
import { unavailable } from '#platform/http/errors.ts'
import type { Health } from './routes.ts'

/** What an operator still needs from a process that must not work. */
const STILL_ANSWERED = new Set(['/', '/healthz', '/readyz', '/metrics'])

/** Every other request gets 503, before anything of it is read: a caller behind a load balancer tries another process. */
export function refuseWork(app: FastifyInstance, health: Pick<Health, 'refusal'>): void {
  // Without a promise: every request goes through here.
  app.addHook('onRequest', (request, _reply, done) => {
    const refusal = health.refusal()
    const isRefused = refusal !== null && !STILL_ANSWERED.has(request.routeOptions.url ?? '')
    done(isRefused ? unavailable(refusal) : undefined)
  })
}
