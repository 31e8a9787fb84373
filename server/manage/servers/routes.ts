import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import type { SshGuard } from '#platform/addresses/ssh-guard.ts'
import * as t from '#platform/http/schemas.ts'
import { checkHost } from './host-rules.ts'
import { changeServer, createServer, removeServer } from './manage-servers.ts'
import { findServer, listServers, presentServers, type ServerRow } from './read-servers.ts'
import { runServerCheck, type ServerCheckDeps } from './run-check.ts'
import { serverBody, serverChange, serverCheckBody, serverCheckSchema, serverSchema } from './schemas.ts'

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
    access: permissions('environment', 'id', 'server:view'),
    description: 'Newest first.',
    find: ({ params }, name, page) => listServers(db, params.id, name, page),
  })

  servers.create('/environments/:id/servers', {
    access: permissions('environment', 'id', 'server:add'),
    description:
      'Does not contact the server: see `POST /servers/{id}/check`. Only instance administrators can create local servers, and SSH servers on loopback addresses. Returns 422 for a local server where Gantry cannot isolate its steps.',
    body: serverBody,
    errors: [415],
    prepare: ({ body }) => checkHost(sshGuard, body.host),
    run: (trx, call, host) => createServer(trx, { ...call, refuseLocal }, call.params.id, call.body, host),
  })

  servers.read('/servers/:id', {
    access: permissions('server', 'id', 'server:view'),
    description: 'Includes the applications that are deployed to it.',
    find: ({ params }) => findServer(db, params.id),
  })

  servers.change('/servers/:id', {
    access: permissions('server', 'id', 'server:edit'),
    description:
      'A new `host` or `port` clears the pinned `host_key` unless you send one. The change applies to runs that start afterward.',
    body: serverChange,
    errors: [415],
    prepare: ({ body }) => checkHost(sshGuard, body.host),
    run: (trx, call, host) =>
      changeServer(trx, { ...call, refuseLocal }, call.params.id, call.body, host, call.ifMatch),
  })

  servers.remove('/servers/:id', {
    access: permissions('server', 'id', 'server:remove'),
    description:
      'Returns 409 while applications or pipelines use it. With `cascade`, its own pipelines are removed too, and applications are no longer deployed to it. Never removed while runs on it are unfinished. Past runs remain.',
    query: t.cascadeQuery,
    errors: [409],
    run: (trx, call) => removeServer(trx, call, call.params.id, call),
  })

  servers.check('/servers/:id/check', {
    access: permissions('server', 'id', 'server:run'),
    description:
      'Connects as a run does and inspects the server, within 15 seconds. A server that cannot be reached is a valid result: 200 with `ok` false and a message.',
    body: serverCheckBody,
    report: serverCheckSchema,
    errors: [415],
    run: ({ caller, actor, scope, params, body }) =>
      runServerCheck(deps, caller, actor, scope, params.id, body),
  })
}
