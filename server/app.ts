// Builds the HTTP side of Gantry from its dependencies. `service.ts` starts it; tests inject requests into it.

import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import helmet from '@fastify/helmet'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  LogController,
} from 'fastify'
import { ownPermissionsSchema } from '#access/accounts/own-permissions.ts'
import { accountRoutes } from '#access/accounts/routes.ts'
import { keepSessionsAlive, sessionSchema } from '#access/accounts/session-routes.ts'
import { signedInSchema } from '#access/accounts/signed-in.ts'
import { userAccountSchema } from '#access/accounts/user-routes.ts'
import { userSchema } from '#access/accounts/user-schema.ts'
import { enforceAccess, recordAccess } from '#access/authorization/enforce.ts'
import { createOperatorCheck } from '#access/authorization/operator.ts'
import { commandLineLoginRoutes } from '#access/command-line-login/routes.ts'
import { loginSchemas } from '#access/command-line-login/schemas.ts'
import { rejectPasswords } from '#access/single-sign-on/password-login.ts'
import { singleSignOnRoutes } from '#access/single-sign-on/routes.ts'
import { rolesOf, type SingleSignOnConfig, singleSignOnOf } from '#access/single-sign-on/settings.ts'
import type { Connect, RefuseLocal } from '#adapters/executors/connect.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { dryRunSchemas } from '#engine/incoming/dry-run.ts'
import { dryRunRoute } from '#engine/incoming/dry-run-route.ts'
import type { ReceiveDeps } from '#engine/incoming/receive-call.ts'
import { replayRoute } from '#engine/incoming/replay-call.ts'
import { callAnswerSchema } from '#engine/incoming/respond.ts'
import { incomingRoutes } from '#engine/incoming/routes.ts'
import { countMissed, replayDelivery } from '#engine/delivery-commands/redeliver.ts'
import { outgoingRoutes, outgoingSchemas } from '#engine/delivery-commands/routes.ts'
import { type RunRoutes, runRoutes } from '#engine/run-commands/routes.ts'
import { runSchemas } from '#engine/run-commands/schemas.ts'
import { createWaits, type WaitSettings, type Waits } from '#engine/waits/waits.ts'
import { allowRemote } from '#manage/applications/allow-remote.ts'
import { inspectionSchema } from '#manage/applications/inspection-schemas.ts'
import { applicationRoutes } from '#manage/applications/routes.ts'
import { applicationRoomSchemas } from '#manage/applications/schemas.ts'
import { applyRoutes } from '#manage/apply/routes.ts'
import { applySchemas } from '#manage/apply/schemas.ts'
import { catalogRoutes } from '#manage/catalog/routes.ts'
import { catalogSchemas } from '#manage/catalog/schemas.ts'
import { credentialRoutes } from '#manage/credentials/routes.ts'
import { credentialSchemas } from '#manage/credentials/schemas.ts'
import { loadHookSecrets } from '#manage/hooks/read-hooks.ts'
import { hookRoutes } from '#manage/hooks/routes.ts'
import { claimInvitation } from '#manage/members/claim-invitation.ts'
import { invitationSchemas } from '#manage/members/invitation-schemas.ts'
import { replaceMappedGrants } from '#manage/members/mapped-grants.ts'
import { memberRoutes } from '#manage/members/routes.ts'
import { memberSchemas } from '#manage/members/schemas.ts'
import { organizationRoutes } from '#manage/organizations/routes.ts'
import { pipelineRoutes } from '#manage/pipelines/routes.ts'
import { serverRoutes } from '#manage/servers/routes.ts'
import { serverSchemas } from '#manage/servers/schemas.ts'
import { changesSchemas } from '#model/actions/changes-schemas.ts'
import { type ActionNotifications, createActionNotifications } from '#model/actions/notifications.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { actionSchemas } from '#model/actions/schemas.ts'
import { hookSchemas } from '#model/hooks/schemas.ts'
import { inventorySchemas } from '#model/inventory/schemas.ts'
import { createTree } from '#model/inventory/tree.ts'
import { pipelineSchemas } from '#model/pipelines/schemas.ts'
import { commandLineRoutes } from '#ops/command-line/routes.ts'
import { type DiagnosticsDeps, diagnosticsRoutes } from '#ops/diagnostics/routes.ts'
import { refuseWork } from '#ops/operations/refuse-work.ts'
import { type Health, operationsRoutes } from '#ops/operations/routes.ts'
import { workerRoutes } from '#ops/operations/worker-routes.ts'
import { referenceRoutes } from '#ops/reference/routes.ts'
import { defaultRetention, type RetentionConfig } from '#ops/retention/policy.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard } from '#platform/addresses/ssh-guard.ts'
import type { Config } from '#platform/config.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { installCompression } from '#platform/http/compression.ts'
import { replyToBrokenConnection, replyWithError } from '#platform/http/errors.ts'
import { closeConnectionsOnStop } from '#platform/http/graceful-stop.ts'
import { installBodyParsing } from '#platform/http/json-body.ts'
import { installOpenApi } from '#platform/http/openapi.ts'
import { forbidStoring, logRequests } from '#platform/http/requests.ts'
import { errorSchema } from '#platform/http/schemas.ts'
import { type RecordedRoute, recordRoutes, rejectUnknownRoutes } from '#platform/http/unknown-routes.ts'
import { createValidatorCompiler } from '#platform/http/validation.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { readQueueDepths } from '#platform/queue/queue-depths.ts'
import { actionRoutes } from '#views/actions/routes.ts'
import { auditRoutes } from '#views/audit/routes.ts'
import { auditEntrySchema } from '#views/audit/schemas.ts'
import { readPagesVersion } from '#views/dashboard/built-pages.ts'
import { dashboardRoutes } from '#views/dashboard/routes.ts'
import { dashboardSchemas } from '#views/dashboard/schemas.ts'
import { hookTestRoute, hookTestSchema } from '#views/hook-requests/hook-test-route.ts'
import { hookRequestRoutes } from '#views/hook-requests/routes.ts'
import { hookRequestSchemas } from '#views/hook-requests/schemas.ts'
import { stepLogRoutes } from '#views/logs/routes.ts'
import { stepLogSchema } from '#views/logs/schemas.ts'
import { nameRoutes } from '#views/names/routes.ts'
import { nameEntrySchema } from '#views/names/schemas.ts'
import { notificationRoutes } from '#views/notifications/routes.ts'
import { actionNotificationSchema } from '#views/notifications/schemas.ts'
import { releaseRoutes } from '#views/releases/routes.ts'
import { releaseSchemas } from '#views/releases/schemas.ts'
import { streamRoutes } from '#views/streams/routes.ts'
import { streamSchemas } from '#views/streams/schemas.ts'
import type { StreamSettings } from '#views/streams/settings.ts'

export type AppDeps = {
  config: Pick<
    Config,
    | 'home'
    | 'host'
    | 'publicUrl'
    | 'role'
    | 'workerName'
    | 'databaseUrl'
    | 'secretKey'
    | 'accessTokenMinutes'
    | 'refreshTokenDays'
    | 'requestTimeoutMs'
    | 'trustProxy'
    | 'maxPayload'
    | 'metricsToken'
    | 'tokenTargets'
  > &
    SingleSignOnConfig &
    RetentionConfig
  db: Database
  /** For what operators ask while all other connections are in use. */
  reserved: Database
  listener: Listener
  box: SecretBox
  health: Health
  calls: ReceiveDeps
  /** Which addresses user-supplied URLs may connect to. */
  guard: AddressGuard
  /** Which hosts servers may have. */
  sshGuard: SshGuard
  /** Connects to servers exactly as runs do. */
  connect: Connect
  refuseLocal: RefuseLocal
  localIsolation: DiagnosticsDeps['localIsolation']
  poolState: DiagnosticsDeps['poolState']
  http: HttpClient
  enqueue: RunRoutes['enqueue']
  /** For the metrics. */
  onMoves?: RunRoutes['onMoves']
  version: string
  /** A function, because with PORT=0 the address is known only once the server listens. */
  baseUrl: () => string
  log: FastifyBaseLogger
  /** Overrides for the event streams; tests use them. */
  streams?: Partial<StreamSettings>
  /** The same for requests that wait for the end of a run. */
  waits?: Partial<WaitSettings>
  /** Further routes; benchmarks have some. */
  more?: FastifyPluginAsync
}

const API_BODY_LIMIT = 1024 * 1024

const schemas = [
  errorSchema,
  userSchema,
  ownPermissionsSchema,
  sessionSchema,
  signedInSchema,
  userAccountSchema,
  ...loginSchemas,
  ...inventorySchemas,
  ...actionSchemas,
  stepLogSchema,
  nameEntrySchema,
  ...streamSchemas,
  ...hookSchemas,
  ...catalogSchemas,
  ...hookRequestSchemas,
  hookTestSchema,
  actionNotificationSchema,
  callAnswerSchema,
  ...dryRunSchemas,
  ...outgoingSchemas,
  ...applicationRoomSchemas,
  inspectionSchema,
  ...releaseSchemas,
  ...pipelineSchemas,
  ...changesSchemas,
  ...runSchemas,
  ...credentialSchemas,
  ...serverSchemas,
  auditEntrySchema,
  ...memberSchemas,
  ...invitationSchemas,
  ...applySchemas,
  ...dashboardSchemas,
]

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
  await app.register(apiRoutes, { ...deps, waits, notifications, routes })
  await app.register(callRoutes, { ...deps, waits })
  return app
}

type Shared = Omit<AppDeps, 'waits'> & { waits: Waits }

/** Calls to hooks, which come by the thousand, go through as few hooks of Fastify as possible. */
const callRoutes = async (
  app: FastifyInstance,
  { config, calls, waits, baseUrl, version, health }: Shared,
) => {
  logRequests(app, version, () => null)
  refuseWork(app, health)
  await app.register(incomingRoutes, { ...calls, waits, maxPayload: config.maxPayload, baseUrl })
}

type ApiDeps = Shared & { notifications: ActionNotifications; routes: RecordedRoute[] }

/** Everything else, and URLs that do not exist. */
const apiRoutes = async (app: FastifyInstance, deps: ApiDeps) => {
  const { config, db, reserved, box, guard, sshGuard, connect, refuseLocal, http, baseUrl, version } = deps
  const { waits, notifications } = deps
  logRequests(app, version, (request) => request.caller?.id ?? null)
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
  const { metricsToken } = config
  enforceAccess(app, { db, reserved, baseUrl, metricsToken })
  installBodyParsing(app)

  const lifetimes = {
    accessTokenMinutes: config.accessTokenMinutes,
    refreshTokenDays: config.refreshTokenDays,
  }
  keepSessionsAlive(app, { db, lifetimes, baseUrl })
  await app.register(diagnosticsRoutes, {
    db,
    reserved,
    box,
    config,
    tokenTargets: config.tokenTargets,
    baseUrl,
    version,
    checkDatabase: deps.health.checkDatabase,
    isDiskFull: deps.health.isDiskFull,
    isQueueWorking: deps.health.isQueueWorking,
    poolState: deps.poolState,
    localIsolation: deps.localIsolation,
    pagesVersion: readPagesVersion,
  })
  const isOperator = createOperatorCheck({ db, reserved, metricsToken })
  await app.register(operationsRoutes, { health: deps.health, isOperator, version })
  await app.register(workerRoutes, { db })
  await app.register(referenceRoutes)
  const { passwordLogin, tokenTargets } = config
  if (!passwordLogin) rejectPasswords(app)
  await app.register(accountRoutes, { db, lifetimes, baseUrl })
  await app.register(commandLineLoginRoutes, { db })
  await app.register(singleSignOnRoutes, {
    db,
    lifetimes,
    baseUrl,
    passwordLogin,
    settings: singleSignOnOf(config),
    replaceRoles: (trx, member, groups) =>
      replaceMappedGrants(trx, member, rolesOf(config.oidcGroupRoles, groups)),
    claimInvitation,
  })
  const tree = createTree(db)
  await app.register(actionRoutes, { db, tree, baseUrl })
  const { enqueue, onMoves } = deps
  const repositories = createRepositories({
    folder: join(config.home, 'repositories', 'mirrors'),
    allowRemote: (remote, applicationId) => allowRemote(db, deps.guard, remote, applicationId),
  })
  await app.register(runRoutes, { db, box, tree, baseUrl, enqueue, onMoves, waits, repositories })
  await app.register(stepLogRoutes, { db, tree })
  await app.register(nameRoutes, { db, tree, baseUrl })
  await app.register(streamRoutes, {
    db,
    box,
    tree,
    listener: deps.listener,
    notifications,
    settings: deps.streams,
  })
  await app.register(hookRoutes, {
    db,
    box,
    guard,
    tokenTargets,
    baseUrl,
    countMissed: (hookId, since) => countMissed(db, hookId, since),
  })
  await app.register(catalogRoutes)
  const readAction = createActionReader({ db, baseUrl })
  await app.register(outgoingRoutes, { db, tree, baseUrl, readAction, box, guard, tokenTargets })
  const secretsOf = (hookId: string) => loadHookSecrets(db, box, hookId)
  await app.register(hookRequestRoutes, { db, baseUrl, secretsOf })
  await app.register(notificationRoutes, { db })
  const testing = { db, tree, baseUrl, readAction, box, sender: http, secretsOf, tokenTargets }
  await app.register(hookTestRoute, testing)
  await app.register(dryRunRoute, { db, box })
  await app.register(replayRoute, {
    ...deps.calls,
    db,
    box,
    baseUrl,
    replayDelivery: (id, userId) => replayDelivery(db, id, userId),
  })
  await app.register(organizationRoutes, { db, baseUrl, retention: defaultRetention(config) })
  await app.register(auditRoutes, { db, baseUrl })
  await app.register(credentialRoutes, { db, box, tree, baseUrl, guard, connect, http })
  const { workerName } = config
  await app.register(serverRoutes, { db, box, sshGuard, connect, refuseLocal, workerName, baseUrl })
  const inspectionsFolder = join(config.home, 'repositories', 'inspections')
  await app.register(applicationRoutes, { db, box, tree, baseUrl, guard, inspectionsFolder })
  const mirrors = join(config.home, 'repositories', 'mirrors')
  await app.register(releaseRoutes, { db, tree, baseUrl, mirrors })
  await app.register(pipelineRoutes, { db, baseUrl })
  await app.register(memberRoutes, { db, lifetimes, baseUrl })
  await app.register(applyRoutes, { db, box, guard, sshGuard, refuseLocal, tokenTargets, baseUrl })
  const queueDepths = () => readQueueDepths({ db, jobs })
  await app.register(dashboardRoutes, { db, tree, baseUrl, queueDepths })
  await app.register(commandLineRoutes, { baseUrl })
  if (deps.more) await app.register(deps.more)
}
