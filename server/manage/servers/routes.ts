import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf, withTokens } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { can } from '#access/authorization/permissions.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import type { SshGuard } from '#platform/addresses/ssh-guard.ts'
import { tooManyRequests } from '#platform/http/errors.ts'
import { limitLongCalls } from '#platform/http/long-calls.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { checkHost } from './host-rules.ts'
import { changeServer, createServer, removeServer } from './manage-servers.ts'
import { findServer, listServers, presentServers, type ServerRow } from './read-servers.ts'
import { runServerCheck, type ServerCheckDeps } from './run-check.ts'
import {
  healthTryBody,
  healthTrySchema,
  serverBody,
  serverChange,
  serverCheckBody,
  serverCheckSchema,
  serverSchema,
} from './schemas.ts'
import { tryHealth } from './try-health.ts'
import type { ReachDeps } from './with-server.ts'

export type ServerRoutes = ServerCheckDeps & {
  baseUrl: () => string
  sshGuard: SshGuard
  refuseLocal: RefuseLocal
}

export const serverRoutes: FastifyPluginAsyncTypebox<ServerRoutes> = async (app, deps) => {
  const { db, sshGuard, refuseLocal } = deps
  const servers = resourceRoutes(app, deps, {
    tag: 'Servers',
    name: 'server',
    record: serverSchema,
    present: ({ caller, scope }, rows: readonly ServerRow[]) =>
      presentServers(db, rows, { applications: can(caller, 'application:view', scope) }),
  })

  servers.list('/environments/:id/servers', {
    compress: true,
    description: 'Newest first.',
    find: ({ id }, name, page) => listServers(db, id, name, page),
  })

  servers.create('/environments/:id/servers', {
    description:
      'Does not contact the server: see `POST /servers/{id}/check`. Only instance administrators can create local servers, and SSH servers on loopback addresses. Returns 422 for a local server where Gantry cannot isolate its steps.',
    body: serverBody,
    errors: [415],
    prepare: ({ body }) => checkHost(sshGuard, body.host),
    run: (trx, call, host) => createServer(trx, { ...call, refuseLocal, host }),
  })

  servers.read('/servers/:id', {
    description: 'Includes the applications that are deployed to it.',
    find: ({ id }) => findServer(db, id),
  })

  servers.change('/servers/:id', {
    description:
      'A new `host` or `port` clears the pinned `host_key` unless you send one. The change applies to runs that start afterward.',
    body: serverChange,
    errors: [415],
    prepare: ({ body }) => checkHost(sshGuard, body.host),
    run: (trx, call, host) => changeServer(trx, { ...call, refuseLocal, host }),
  })

  servers.remove('/servers/:id', {
    description:
      'Returns 409 while applications or pipelines use it. With `cascade`, its own pipelines are removed too, and applications are no longer deployed to it. Never removed while runs on it are unfinished. Past runs remain.',
    query: t.cascadeQuery,
    run: removeServer,
  })

  servers.check('/servers/:id/check', {
    access: permissions('server', 'id', 'server:run'),
    description:
      'Connects as a run does and inspects the server, within 15 seconds. A server that cannot be reached is a valid result: 200 with `ok` false and a message.',
    body: serverCheckBody,
    report: serverCheckSchema,
    errors: [415],
    run: (call) => runServerCheck(deps, call),
  })

  await app.register(healthTryRoutes, deps)
}

const operation = operationsOf('Servers')

const healthTryRoutes: FastifyPluginAsyncTypebox<ReachDeps> = async (app, deps) => {
  // Each takes a connection, for up to a minute.
  const longCall = limitLongCalls(app, { perProcess: 8, perUser: 2 })

  app.post(
    '/servers/:id/try-health-check',
    operation(
      withTokens('manage', permissions('server', 'id', 'server:run', 'pipeline:run')),
      'tryHealthCheck',
      {
        summary: 'Try a health check on a server',
        description:
          'Makes one try from the server, as deploys do, and stores nothing, except that the audit log names who tried which command. A check that fails and a server that cannot be reached are valid results: 200 with `healthy` false and a message. A command runs in the directory of the live release with the variables of the application; over SSH, the host key of the server must be pinned. On local servers this takes an instance administrator. A personal access token with scopes needs both `manage` and `run`.',
        params: t.Exactly({ id: t.Id }),
        body: healthTryBody,
        response: {
          200: t.ref(healthTrySchema),
          ...t.errorResponses(400, 401, 403, 404, 409, 415, 422, 429, 503),
        },
      },
    ),
    async (request, reply) => {
      const caller = callerOf(request)
      const call = {
        caller,
        actor: actorOf(request),
        scope: scopeOf(request),
        id: request.params.id,
        body: request.body,
      }
      return longCall(
        { userId: caller.id, reply, ifBusy: refuse },
        async (signal) => unwrap(await tryHealth(deps, { ...call, signal })).result,
      )
    },
  )
}

function refuse(): never {
  throw tooManyRequests('Too many health checks are being tried. Try again shortly.', 5)
}
