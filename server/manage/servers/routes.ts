import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { permissions } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import type { RefuseLocal } from '#adapters/executors/connect.ts'
import type { SshGuard } from '#platform/addresses/ssh-guard.ts'
import { cascadeQuery } from '#platform/http/schemas.ts'
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
    query: cascadeQuery,
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
}
