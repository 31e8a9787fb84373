import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { enforceAccess, recordAccess } from '#access/authorization/enforce.ts'
import { createOperatorCheck } from '#access/authorization/operator.ts'
import type { Database } from '#platform/database/connect.ts'
import { replyToBrokenConnection, replyWithError } from '#platform/http/errors.ts'
import { closeConnectionsOnStop } from '#platform/http/graceful-stop.ts'
import { logRequests } from '#platform/http/requests.ts'
import * as t from '#platform/http/schemas.ts'
import { recordRoutes, rejectUnknownRoutes } from '#platform/http/unknown-routes.ts'
import { createValidatorCompiler } from '#platform/http/validation.ts'
import { type HealthSigns, healthRoutes } from './routes.ts'

/** `/healthz`, `/readyz` and `/metrics` of a process without the API, under the same rules. */
export async function buildHealthApp(deps: {
  db: Database
  reserved: Database
  health: HealthSigns
  metricsToken: string | undefined
  version: string
  baseUrl: () => string
  log: FastifyBaseLogger
}): Promise<FastifyInstance> {
  const app: FastifyInstance = Fastify({
    loggerInstance: deps.log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    requestTimeout: 10_000,
    frameworkErrors: replyWithError,
    clientErrorHandler: replyToBrokenConnection,
    return503OnClosing: false,
  })
  app.addSchema(t.errorSchema)
  app.setValidatorCompiler(createValidatorCompiler([t.errorSchema]))
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(replyWithError)
  logRequests(app, deps.version, (request) => request.caller?.id ?? null)
  closeConnectionsOnStop(app)
  recordAccess(app)
  rejectUnknownRoutes(app, recordRoutes(app))
  enforceAccess(app, deps)
  await app.register(healthRoutes, { health: deps.health, isOperator: createOperatorCheck(deps) })
  return app
}
