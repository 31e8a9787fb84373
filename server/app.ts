// Builds the HTTP side of Gantry out of the parts it is given; `service.ts` starts it, tests inject into it.

import { randomUUID } from 'node:crypto'
import helmet from '@fastify/helmet'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { enforceAccess } from '#access/enforce.ts'
import { accountRoutes } from '#accounts/routes.ts'
import { keepSessionsAlive, sessionSchema } from '#accounts/session-routes.ts'
import { userSchema } from '#accounts/user-schema.ts'
import { createActionFinder } from '#actions/find-action.ts'
import { actionRoutes } from '#actions/routes.ts'
import { actionSchemas } from '#actions/schemas.ts'
import { shareWholeLoads } from '#actions/whole-actions.ts'
import type { AddressGuard } from '#addresses/guard.ts'
import { applicationRoutes } from '#applications/routes.ts'
import { applicationRoomSchemas } from '#applications/schemas.ts'
import { applyRoutes } from '#apply/routes.ts'
import { applySchemas } from '#apply/schemas.ts'
import { auditRoutes } from '#audit/routes.ts'
import { auditEntrySchema } from '#audit/schemas.ts'
import { credentialRoutes } from '#credentials/routes.ts'
import { credentialSchemas } from '#credentials/schemas.ts'
import type { SecretBox } from '#crypto/secret-box.ts'
import { dashboardRoutes } from '#dashboard/routes.ts'
import { dashboardSchemas } from '#dashboard/schemas.ts'
import type { Database } from '#database/connect.ts'
import type { Listener } from '#database/listen.ts'
import { hookRequestRoutes } from '#hook-requests/routes.ts'
import { hookRequestSchemas } from '#hook-requests/schemas.ts'
import { loadHookSecrets } from '#hooks/hook-secrets.ts'
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
import { liveRoutes } from '#live/routes.ts'
import { liveSchemas } from '#live/schemas.ts'
import type { LiveSettings } from '#live/settings.ts'
import { memberRoutes } from '#members/routes.ts'
import { memberSchemas } from '#members/schemas.ts'
import { type Health, operationsRoutes } from '#operations/routes.ts'
import { organizationRoutes } from '#organizations/routes.ts'
import { countMissed } from '#outgoing/redeliver.ts'
import { replayDelivery } from '#outgoing/replay-delivery.ts'
import { outgoingRoutes, outgoingSchemas } from '#outgoing/routes.ts'
import { pipelineRoutes } from '#pipelines/routes.ts'
import { pipelineSchemas } from '#pipelines/schemas.ts'
import { jobs } from '#queue/jobs.ts'
import { readQueueDepths } from '#queue/queue-depths.ts'
import { type RunRoutes, runRoutes } from '#runs/routes.ts'
import { runPlanSchema } from '#runs/schemas.ts'
import { serverRoutes } from '#servers/routes.ts'
import { serverSchemas } from '#servers/schemas.ts'
import { stepLogRoutes } from '#step-logs/routes.ts'
import { stepLogSchema } from '#step-logs/schemas.ts'
import type { Config } from './config.ts'

export type AppDeps = {
  config: Pick<
    Config,
    'accessTokenMinutes' | 'refreshTokenDays' | 'requestTimeoutMs' | 'trustProxy' | 'maxPayload'
  >
  db: Database
  listener: Listener
  box: SecretBox
  health: Health
  calls: ReceiveCalls
  /** Which machines may be called on somebody's wish. */
  guard: AddressGuard
  enqueue: RunRoutes['enqueue']
  version: string
  /** A function, because with PORT=0 the address is known only once the server listens. */
  baseUrl: () => string
  log: FastifyBaseLogger
  /** Where the event streams differ from the usual. */
  live?: Partial<LiveSettings>
}

const API_BODY_LIMIT = 1024 * 1024

const schemas = [
  errorSchema,
  userSchema,
  sessionSchema,
  ...inventorySchemas,
  ...actionSchemas,
  stepLogSchema,
  ...liveSchemas,
  ...hookSchemas,
  ...hookRequestSchemas,
  callAnswerSchema,
  dryRunSchema,
  ...outgoingSchemas,
  ...applicationRoomSchemas,
  ...pipelineSchemas,
  runPlanSchema,
  ...credentialSchemas,
  ...serverSchemas,
  auditEntrySchema,
  ...memberSchemas,
  ...applySchemas,
  ...dashboardSchemas,
]

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { config, db, box, guard, baseUrl, version } = deps
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
  enforceAccess(app, db, baseUrl)
  installBodyParsing(app)
  await installOpenApi(app, { version, baseUrl })

  const lives = { accessTokenMinutes: config.accessTokenMinutes, refreshTokenDays: config.refreshTokenDays }
  keepSessionsAlive(app, { db, lives, baseUrl })
  await app.register(operationsRoutes, { health: deps.health, version })
  await app.register(accountRoutes, { db, lives, baseUrl })
  const tree = createTree(db)
  await app.register(actionRoutes, { db, tree, baseUrl })
  await app.register(runRoutes, { db, tree, baseUrl, enqueue: deps.enqueue })
  await app.register(stepLogRoutes, { db, tree })
  await app.register(liveRoutes, { db, tree, listener: deps.listener, settings: deps.live })
  await app.register(hookRoutes, {
    db,
    box,
    guard,
    baseUrl,
    countMissed: (hookId, since) => countMissed(db, hookId, since),
  })
  const reading = { db, tree, baseUrl, findAction: createActionFinder(db), loadWhole: shareWholeLoads(db) }
  await app.register(outgoingRoutes, { ...reading, box, guard })
  const secretsOf = (hookId: string) => loadHookSecrets(db, box, hookId)
  await app.register(hookRequestRoutes, { db, baseUrl, secretsOf })
  await app.register(callPersonRoutes, {
    ...deps.calls,
    db,
    box,
    baseUrl,
    replayDelivery: (id, userId) => replayDelivery(db, id, userId),
  })
  await app.register(incomingRoutes, { ...deps.calls, maxPayload: config.maxPayload, baseUrl })
  await app.register(organizationRoutes, { db, baseUrl })
  await app.register(auditRoutes, { db, baseUrl })
  await app.register(credentialRoutes, { db, box, tree, baseUrl, guard })
  await app.register(serverRoutes, { db, box, baseUrl })
  await app.register(applicationRoutes, { db, box, tree, baseUrl })
  await app.register(pipelineRoutes, { db, baseUrl })
  await app.register(memberRoutes, { db, lives, baseUrl })
  await app.register(applyRoutes, { db, box, guard, baseUrl })
  const queueDepths = () => readQueueDepths({ db, jobs })
  await app.register(dashboardRoutes, { db, tree, baseUrl, queueDepths })
  return app
}
