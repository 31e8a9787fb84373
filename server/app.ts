// Builds the HTTP side of Gantry out of the parts it is given; `service.ts` starts it, tests inject into it.

import { randomUUID } from 'node:crypto'
import helmet from '@fastify/helmet'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { enforceAccess } from '#access/enforce.ts'
import { accountRoutes } from '#accounts/routes.ts'
import { userSchema } from '#accounts/user-schema.ts'
import { actionRoutes } from '#actions/routes.ts'
import { actionSchemas } from '#actions/schemas.ts'
import type { SecretBox } from '#crypto/secret-box.ts'
import type { Database } from '#database/connect.ts'
import { hookRequestRoutes } from '#hook-requests/routes.ts'
import { hookRequestSchemas } from '#hook-requests/schemas.ts'
import { hookRoutes } from '#hooks/routes.ts'
import { hookSchemas } from '#hooks/schemas.ts'
import { installBodyParsing } from '#http/body-parsing.ts'
import { answerBrokenConnections } from '#http/broken-requests.ts'
import { replyWithError } from '#http/errors.ts'
import { installOpenApi } from '#http/openapi.ts'
import { logRequests } from '#http/request-log.ts'
import { errorSchema } from '#http/schemas.ts'
import { answerUnknownAddresses } from '#http/unknown-addresses.ts'
import { createValidatorCompiler } from '#http/validation.ts'
import { callAnswerSchema } from '#incoming/answer.ts'
import { dryRunSchema } from '#incoming/dry-run.ts'
import { callPersonRoutes } from '#incoming/person-routes.ts'
import type { ReceiveCalls } from '#incoming/receive-call.ts'
import { incomingRoutes } from '#incoming/routes.ts'
import { inventorySchemas } from '#inventory/schemas.ts'
import { createTree } from '#inventory/tree.ts'
import { type Health, operationsRoutes } from '#operations/routes.ts'
import type { Config } from './config.ts'

export type AppDeps = {
  config: Pick<
    Config,
    'accessTokenMinutes' | 'refreshTokenDays' | 'requestTimeoutMs' | 'trustProxy' | 'maxPayload'
  >
  db: Database
  box: SecretBox
  health: Health
  calls: ReceiveCalls
  version: string
  /** A function, because with PORT=0 the address is known only once the server listens. */
  baseUrl: () => string
  log: FastifyBaseLogger
}

const API_BODY_LIMIT = 1024 * 1024

const schemas = [
  errorSchema,
  userSchema,
  ...inventorySchemas,
  ...actionSchemas,
  ...hookSchemas,
  ...hookRequestSchemas,
  callAnswerSchema,
  dryRunSchema,
]

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { config, db, box, baseUrl, version } = deps
  const app: FastifyInstance = Fastify({
    loggerInstance: deps.log,
    // Every request is one line of ours (request-log.ts).
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: API_BODY_LIMIT,
    // Against senders who let a request trickle in.
    requestTimeout: config.requestTimeoutMs,
    http: {
      headersTimeout: Math.min(10_000, config.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(1_000, config.requestTimeoutMs),
    },
    keepAliveTimeout: 72_000,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: replyWithError,
    clientErrorHandler: answerBrokenConnections,
    return503OnClosing: false,
  })

  for (const schema of schemas) app.addSchema(schema)
  app.setValidatorCompiler(createValidatorCompiler(schemas))
  // Answers are typed by the same schemas and checked against them in every test; V8's own serializer
  // is then the fastest way out.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(replyWithError)
  logRequests(app, (request) => request.caller?.id ?? null)
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'self'"], frameAncestors: ["'none'"] },
    },
  })
  answerUnknownAddresses(app)
  enforceAccess(app, db)
  installBodyParsing(app)
  await installOpenApi(app, { version, baseUrl })

  const lives = { accessTokenMinutes: config.accessTokenMinutes, refreshTokenDays: config.refreshTokenDays }
  await app.register(operationsRoutes, { health: deps.health, version })
  await app.register(accountRoutes, { db, lives, baseUrl })
  await app.register(actionRoutes, { db, tree: createTree(db), baseUrl })
  await app.register(hookRoutes, { db, box, baseUrl })
  await app.register(hookRequestRoutes, { db, baseUrl })
  await app.register(callPersonRoutes, { ...deps.calls, db, box, baseUrl })
  await app.register(incomingRoutes, { ...deps.calls, maxPayload: config.maxPayload, baseUrl })
  return app
}
