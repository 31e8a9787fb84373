import type { FastifyRequest } from 'fastify'
import { withQueryTimeout } from '#platform/database/client.ts'
import type { Database } from '#platform/database/connect.ts'
import { createCallerFinder } from './caller.ts'
import { hasToken, tokenOf } from './enforce.ts'
import { hasScope } from './token-limits.ts'

/** What is asked for by load balancers must not wait for long. */
const WITHIN_MS = 500

/**
 * Whether a request to a public route comes from an operator, who may know more: it has the metrics token, or that of an
 * instance administrator. False while the database cannot be asked.
 */
export function createOperatorCheck(deps: {
  db: Database
  reserved: Database
  metricsToken: string | undefined
}): (request: FastifyRequest) => Promise<boolean> {
  const findCaller = createCallerFinder(deps.reserved, { touchOver: deps.db })
  return async (request) => {
    if (hasToken(request, deps.metricsToken)) return true
    const token = tokenOf(request)
    if (token === '') return false
    const caller = await withQueryTimeout(WITHIN_MS, () => findCaller(token)).catch(() => undefined)
    return caller?.is_instance_admin === true && hasScope(caller.token, 'read')
  }
}
