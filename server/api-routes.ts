// Every route of the API: the plugin of each room, with the dependencies that it gets, and the named schemas. A room that
// is not listed here has no routes.
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import { accountRoutes, accountSchemas } from '#access/accounts/routes.ts'
import { createOperatorCheck } from '#access/authorization/operator.ts'
import { commandLineLoginRoutes } from '#access/command-line-login/routes.ts'
import { loginSchemas } from '#access/command-line-login/schemas.ts'
import { singleSignOnRoutes } from '#access/single-sign-on/routes.ts'
import { rolesOf, singleSignOnOf } from '#access/single-sign-on/settings.ts'
import type { Connect, RefuseLocal } from '#adapters/executors/connect.ts'
import type { HttpClient } from '#adapters/http-client/client.ts'
import { createRepositories } from '#adapters/repositories/repositories.ts'
import { countMissed, replayDelivery } from '#engine/delivery-commands/redeliver.ts'
import { deliveryCommandRoutes, deliveryCommandSchemas } from '#engine/delivery-commands/routes.ts'
import { gateRoutes } from '#engine/gates/routes.ts'
import { gateSchemas } from '#engine/gates/schemas.ts'
import type { ReceiveDeps } from '#engine/incoming/receive-call.ts'
import { incomingRoutes, incomingSchemas } from '#engine/incoming/routes.ts'
import { type RunRoutes, runRoutes } from '#engine/run-commands/routes.ts'
import { runSchemas } from '#engine/run-commands/schemas.ts'
import type { Waits } from '#engine/waits/waits.ts'
import { allowRemote } from '#manage/applications/allow-remote.ts'
import { applicationRoutes, applicationSchemas } from '#manage/applications/routes.ts'
import { applyRoutes } from '#manage/apply/routes.ts'
import { applySchemas } from '#manage/apply/schemas.ts'
import { catalogRoutes } from '#manage/catalog/routes.ts'
import { catalogSchemas } from '#manage/catalog/schemas.ts'
import { credentialRoutes } from '#manage/credentials/routes.ts'
import { credentialSchemas } from '#manage/credentials/schemas.ts'
import { freezeRoutes } from '#manage/freezes/routes.ts'
import { freezeSchemas } from '#manage/freezes/schemas.ts'
import { loadHookSecrets } from '#manage/hooks/read-hooks.ts'
import { hookRoutes } from '#manage/hooks/routes.ts'
import { claimInvitation } from '#manage/members/claim-invitation.ts'
import { replaceMappedGrants } from '#manage/members/mapped-grants.ts'
import { memberRoutes } from '#manage/members/routes.ts'
import { memberSchemas } from '#manage/members/schemas.ts'
import { organizationRoutes } from '#manage/organizations/routes.ts'
import { pipelineRoutes } from '#manage/pipelines/routes.ts'
import { serverRoutes } from '#manage/servers/routes.ts'
import { serverSchemas } from '#manage/servers/schemas.ts'
import { changesSchemas } from '#model/actions/changes-schemas.ts'
import type { ActionNotifications } from '#model/actions/notifications.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { actionSchemas } from '#model/actions/schemas.ts'
import { hookSchemas } from '#model/hooks/schemas.ts'
import { inventorySchemas } from '#model/inventory/schemas.ts'
import { createTree } from '#model/inventory/tree.ts'
import { pipelineSchemas } from '#model/pipelines/schemas.ts'
import { commandLineRoutes } from '#ops/command-line/routes.ts'
import { type DiagnosticsDeps, diagnosticsRoutes } from '#ops/diagnostics/routes.ts'
import { guideRoutes } from '#ops/guides/routes.ts'
import { type Health, operationsRoutes } from '#ops/operations/routes.ts'
import { referenceRoutes } from '#ops/reference/routes.ts'
import { defaultRetention } from '#ops/retention/policy.ts'
import type { AddressGuard } from '#platform/addresses/guard.ts'
import type { SshGuard } from '#platform/addresses/ssh-guard.ts'
import type { Config } from '#platform/config.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { errorSchema } from '#platform/http/schemas.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { readQueueDepths } from '#platform/queue/queue-depths.ts'
import { actionRoutes } from '#views/actions/routes.ts'
import { auditRoutes } from '#views/audit/routes.ts'
import { auditSchemas } from '#views/audit/schemas.ts'
import { readPagesVersion } from '#views/dashboard/built-pages.ts'
import { dashboardRoutes } from '#views/dashboard/routes.ts'
import { dashboardSchemas } from '#views/dashboard/schemas.ts'
import { hookRequestRoutes } from '#views/hook-requests/routes.ts'
import { hookRequestSchemas } from '#views/hook-requests/schemas.ts'
import { insightRoutes } from '#views/insights/routes.ts'
import { insightSchemas } from '#views/insights/schemas.ts'
import { stepLogRoutes } from '#views/logs/routes.ts'
import { stepLogSchemas } from '#views/logs/schemas.ts'
import { nameRoutes } from '#views/names/routes.ts'
import { nameSchemas } from '#views/names/schemas.ts'
import { notificationRoutes } from '#views/notifications/routes.ts'
import { notificationSchemas } from '#views/notifications/schemas.ts'
import { releaseRoutes } from '#views/releases/routes.ts'
import { releaseSchemas } from '#views/releases/schemas.ts'
import { streamRoutes } from '#views/streams/routes.ts'
import { streamSchemas } from '#views/streams/schemas.ts'
import type { StreamSettings } from '#views/streams/settings.ts'

/** In the order of the OpenAPI document. */
export const schemas = [
  errorSchema,
  ...accountSchemas,
  ...loginSchemas,
  ...inventorySchemas,
  ...actionSchemas,
  ...stepLogSchemas,
  ...nameSchemas,
  ...streamSchemas,
  ...hookSchemas,
  ...catalogSchemas,
  ...hookRequestSchemas,
  ...notificationSchemas,
  ...incomingSchemas,
  ...deliveryCommandSchemas,
  ...applicationSchemas,
  ...releaseSchemas,
  ...insightSchemas,
  ...pipelineSchemas,
  ...freezeSchemas,
  ...gateSchemas,
  ...changesSchemas,
  ...runSchemas,
  ...credentialSchemas,
  ...serverSchemas,
  ...auditSchemas,
  ...memberSchemas,
  ...applySchemas,
  ...dashboardSchemas,
]

export type ApiDeps = {
  config: Config
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
  waits: Waits
  notifications: ActionNotifications
  /** Overrides for the event streams; tests use them. */
  streams?: Partial<StreamSettings>
}

export const lifetimesOf = ({ accessTokenMinutes, refreshTokenDays }: ApiDeps['config']) => ({
  accessTokenMinutes,
  refreshTokenDays,
})

/** All of them except the calls to hooks, which app.ts serves with less around them. */
export async function apiRoutes(app: FastifyInstance, deps: ApiDeps): Promise<void> {
  const { config, db, reserved, box, guard, sshGuard, connect, refuseLocal, http, baseUrl, version } = deps
  const { health, enqueue, onMoves, waits, notifications, listener, poolState, localIsolation } = deps
  const { passwordLogin, tokenTargets, workerName, metricsToken } = config
  const lifetimes = lifetimesOf(config)
  const tree = createTree(db)
  const readAction = createActionReader({ db, baseUrl })
  const secretsOf = (hookId: string) => loadHookSecrets(db, box, hookId)
  const mirrors = join(config.home, 'repositories', 'mirrors')

  await app.register(diagnosticsRoutes, {
    db,
    reserved,
    box,
    config,
    tokenTargets,
    baseUrl,
    version,
    checkDatabase: health.checkDatabase,
    isDiskFull: health.isDiskFull,
    isQueueWorking: health.isQueueWorking,
    poolState,
    localIsolation,
    pagesVersion: readPagesVersion,
  })
  const isOperator = createOperatorCheck({ db, reserved, metricsToken })
  await app.register(operationsRoutes, { health, isOperator, version, db })
  await app.register(referenceRoutes)
  await app.register(guideRoutes)
  await app.register(accountRoutes, { db, lifetimes, baseUrl })
  await app.register(commandLineLoginRoutes, { db, baseUrl })
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
  await app.register(actionRoutes, { db, tree, baseUrl })
  const repositories = createRepositories({
    folder: mirrors,
    allowRemote: (remote, applicationId) => allowRemote(db, guard, remote, applicationId),
  })
  await app.register(runRoutes, { db, box, tree, baseUrl, enqueue, onMoves, waits, repositories })
  await app.register(gateRoutes, { db, onMoves, enqueueTargets: enqueue.targets })
  await app.register(stepLogRoutes, { db, tree })
  await app.register(nameRoutes, { db, tree, baseUrl })
  await app.register(streamRoutes, { db, box, tree, listener, notifications, settings: deps.streams })
  await app.register(hookRoutes, {
    db,
    box,
    guard,
    tokenTargets,
    baseUrl,
    countMissed: (hookId, since) => countMissed(db, hookId, since),
  })
  await app.register(catalogRoutes)
  await app.register(deliveryCommandRoutes, { db, tree, baseUrl, readAction, box, guard, tokenTargets })
  const testing = { tree, readAction, box, http, tokenTargets }
  await app.register(hookRequestRoutes, { db, baseUrl, secretsOf, ...testing })
  await app.register(notificationRoutes, { db })
  await app.register(incomingRoutes, {
    ...deps.calls,
    db,
    box,
    baseUrl,
    replayDelivery: (id, userId) => replayDelivery(db, id, userId),
  })
  await app.register(organizationRoutes, { db, baseUrl, retention: defaultRetention(config) })
  await app.register(auditRoutes, { db, baseUrl })
  await app.register(credentialRoutes, { db, box, tree, baseUrl, guard, connect, http })
  await app.register(serverRoutes, { db, box, sshGuard, connect, refuseLocal, workerName, baseUrl })
  const inspectionsFolder = join(config.home, 'repositories', 'inspections')
  await app.register(applicationRoutes, { db, box, tree, baseUrl, guard, inspectionsFolder })
  await app.register(releaseRoutes, { db, tree, baseUrl, mirrors })
  await app.register(insightRoutes, { db })
  await app.register(freezeRoutes, { db, baseUrl })
  await app.register(pipelineRoutes, { db, baseUrl })
  await app.register(memberRoutes, { db, lifetimes, baseUrl })
  await app.register(applyRoutes, { db, box, guard, sshGuard, refuseLocal, tokenTargets, baseUrl })
  const queueDepths = () => readQueueDepths({ db, jobs })
  await app.register(dashboardRoutes, { db, tree, baseUrl, queueDepths })
  await app.register(commandLineRoutes, { baseUrl })
}
