// Builds the HTTP side of Gantry from its dependencies: Fastify's settings, and what happens around every route. The
// routes are in `api-routes.ts`. `service.ts` starts it; tests inject requests into it.

import { randomUUID } from 'node:crypto'
import helmet from '@fastify/helmet'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  LogController,
} from 'fastify'
import { keepSessionsAlive } from '#access/accounts/session-routes.ts'
import { enforceAccess, recordAccess } from '#access/authorization/enforce.ts'
import { rejectPasswords } from '#access/single-sign-on/password-login.ts'
import { callRoutes } from '#engine/incoming/routes.ts'
import { createWaits, type WaitSettings } from '#engine/waits/waits.ts'
import { createActionNotifications } from '#model/actions/notifications.ts'
import { refuseWork } from '#ops/operations/refuse-work.ts'
import { installCompression } from '#platform/http/compression.ts'
import { replyToBrokenConnection, replyWithError } from '#platform/http/errors.ts'
import { closeConnectionsOnStop } from '#platform/http/graceful-stop.ts'
import { installBodyParsing } from '#platform/http/json-body.ts'
import { installOpenApi } from '#platform/http/openapi.ts'
import { forbidStoring, logRequests } from '#platform/http/requests.ts'
import { type RecordedRoute, recordRoutes, rejectUnknownRoutes } from '#platform/http/unknown-routes.ts'
import { createValidatorCompiler } from '#platform/http/validation.ts'
import { type ApiDeps, apiRoutes, lifetimesOf, schemas } from './api-routes.ts'

export type AppDeps = Omit<ApiDeps, 'waits' | 'notifications'> & {
  log: FastifyBaseLogger
  /** Overrides for requests that wait for the end of a run; tests use them. */
  waits?: Partial<WaitSettings>
  /** Further routes; benchmarks have some. */
  more?: FastifyPluginAsync
}

const API_BODY_LIMIT = 1024 * 1024

/** Shared by the apps of a process, of which tests have many: a schema is compiled once. */
let validatorCompiler: ReturnType<typeof createValidatorCompiler> | undefined

/**
 * A connection on which nothing moves for this long is closed, with what was to be sent to a client that does not read.
 * Longer than a request may wait for a run.
 */
const MAX_SILENCE_MS = 330_000

export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const { config, baseUrl, version } = deps
  const app: FastifyInstance = Fastify({
    loggerInstance: deps.log,
    // `logRequests` writes one line per request instead.
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: () => randomUUID(),
    requestIdHeader: false,
    bodyLimit: API_BODY_LIMIT,
    // Guards against slow-request attacks.
    requestTimeout: config.requestTimeoutMs,
    http: {
      headersTimeout: Math.min(10_000, config.requestTimeoutMs),
      connectionsCheckingInterval: Math.min(1_000, config.requestTimeoutMs),
    },
    keepAliveTimeout: 72_000,
    connectionTimeout: MAX_SILENCE_MS,
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    routerOptions: { maxParamLength: 512 },
    frameworkErrors: replyWithError,
    clientErrorHandler: replyToBrokenConnection,
    return503OnClosing: false,
    // What starts waits for a slow database as long as that takes, instead of ending the process.
    pluginTimeout: 0,
  })

  for (const schema of schemas) app.addSchema(schema)
  validatorCompiler ??= createValidatorCompiler(schemas)
  app.setValidatorCompiler(validatorCompiler)
  // Responses are typed by the same schemas and checked against them in every test, so they can go through
  // JSON.stringify, which is the fastest serializer.
  app.setSerializerCompiler(() => JSON.stringify)
  app.setErrorHandler(replyWithError)
  closeConnectionsOnStop(app)
  recordAccess(app)
  const routes = recordRoutes(app)
  await installOpenApi(app, { version, baseUrl })

  const notifications = await createActionNotifications(deps.listener)
  const waits = await createWaits({
    db: deps.db,
    listener: deps.listener,
    notifications,
    onError: ({ message }) => deps.log.warn({ part: 'waits', reason: message }, 'wait error; retrying'),
    settings: deps.waits,
  })
  app.addHook('preClose', async () => waits.close())
  const shared = { ...deps, waits, notifications }
  await app.register(serveApi, { ...shared, routes })
  await app.register(serveCalls, shared)
  return app
}

type Shared = ApiDeps & Pick<AppDeps, 'more'>

/** Calls to hooks, which come by the thousand, go through as few hooks of Fastify as possible. */
const serveCalls = async (
  app: FastifyInstance,
  { config, calls, waits, baseUrl, version, health }: Shared,
) => {
  logRequests(app, version, () => null)
  refuseWork(app, health)
  await app.register(callRoutes, { ...calls, waits, maxPayload: config.maxPayload, baseUrl })
}

/** Everything else, and URLs that do not exist. */
const serveApi = async (app: FastifyInstance, deps: Shared & { routes: RecordedRoute[] }) => {
  const { config, db, reserved, baseUrl } = deps
  logRequests(app, deps.version, (request) => request.caller?.id ?? null)
  forbidStoring(app)
  await app.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { defaultSrc: ["'self'"], frameAncestors: ["'none'"] },
    },
  })
  rejectUnknownRoutes(app, deps.routes)
  refuseWork(app, deps.health)
  installCompression(app)
  enforceAccess(app, { db, reserved, baseUrl, metricsToken: config.metricsToken })
  installBodyParsing(app)
  keepSessionsAlive(app, { db, lifetimes: lifetimesOf(config), baseUrl })
  if (!config.passwordLogin) rejectPasswords(app)
  await apiRoutes(app, deps)
  if (deps.more) await app.register(deps.more)
}
