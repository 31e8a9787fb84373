import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { findServer, listServers, type ServerRow } from './find-servers.ts'
import { changeServer, createServer } from './manage-servers.ts'
import { presentServers } from './present-servers.ts'
import { removeServer } from './remove-server.ts'
import {
  type Server,
  serverBody,
  serverChange,
  serverCheckBody,
  serverCheckSchema,
  serverSchema,
} from './schemas.ts'
import { type TryServerDeps, tryServer } from './try-server.ts'

export type ServerRoutes = TryServerDeps & { baseUrl: () => string }

const tags = ['Servers']
const params = Exactly({ id: Id })
const record = ref(serverSchema)

export const serverRoutes: FastifyPluginAsyncTypebox<ServerRoutes> = async (app, deps) => {
  const { db, baseUrl } = deps
  const answer = answerRecords({ db, baseUrl, present, refuse: toApiError })

  app.get(
    '/environments/:id/servers',
    {
      config: { access: permissions('environment', 'id', 'server:view') },
      schema: {
        tags,
        operationId: 'listServers',
        summary: 'List the servers of an environment',
        description: 'Newest first.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(record), ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listServers(db, request.params.id, name, page)),
  )

  app.post(
    '/environments/:id/servers',
    {
      config: { access: permissions('environment', 'id', 'server:add') },
      schema: {
        tags,
        operationId: 'createServer',
        summary: 'Create a server',
        description:
          'Nothing is contacted yet: see `POST /servers/{id}/check`. Local servers are set up by administrators of the installation.',
        params,
        body: serverBody,
        response: { 201: record, ...errorResponses(400, 401, 403, 404, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createServer(trx, by, callerOf(request), request.params.id, request.body),
      )
    },
  )

  app.get(
    '/servers/:id',
    {
      config: { access: permissions('server', 'id', 'server:view') },
      schema: {
        tags,
        operationId: 'readServer',
        summary: 'Read a server',
        description: 'With the applications that are deployed to it.',
        params,
        response: { 200: record, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findServer(db, request.params.id)),
  )

  app.put(
    '/servers/:id',
    {
      config: { access: permissions('server', 'id', 'server:edit') },
      schema: {
        tags,
        operationId: 'changeServer',
        summary: 'Change a server',
        description:
          'A field that is given replaces what is stored; others stay. Another `host` or `port` clears the pinned `host_key` unless one is given. Runs that begin afterwards use what is stored then.',
        params,
        body: serverChange,
        response: { 200: record, ...errorResponses(400, 401, 403, 404, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeServer(trx, by, callerOf(request), request.params.id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/servers/:id',
    {
      config: { access: permissions('server', 'id', 'server:remove') },
      schema: {
        tags,
        operationId: 'removeServer',
        summary: 'Remove a server',
        description:
          'Refused while applications or pipelines use it, unless `cascade` is true: its own pipelines then go with it, and applications are no longer deployed there. Never while runs on it are not finished. Past runs stay.',
        params,
        querystring: Exactly({ cascade: Type.Optional(Type.Boolean({ default: false })) }),
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      const { cascade = false } = request.query
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeServer(trx, by, callerOf(request), request.params.id, { cascade, ifMatch }),
      )
    },
  )

  app.post(
    '/servers/:id/check',
    {
      config: { access: permissions('server', 'id', 'server:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'checkServer',
        summary: 'Try a server',
        description:
          'Logs in as a run would and looks around; over within 15 seconds. That it cannot be reached is an answer as well: 200 with `ok` false and a message.',
        params,
        body: serverCheckBody,
        response: { 200: ref(serverCheckSchema), ...errorResponses(400, 401, 403, 404, 415, 422) },
      },
    },
    async (request) => {
      const outcome = await tryServer(
        deps,
        callerOf(request),
        actorOf(request),
        scopeOf(request),
        request.params.id,
        request.body ?? {},
      )
      if (outcome.kind !== 'tried') throw toApiError(outcome)
      return outcome.check
    },
  )

  function present(request: FastifyRequest, rows: readonly ServerRow[]): Promise<Server[]> {
    const applications = can(callerOf(request), 'application:view', scopeOf(request))
    return presentServers(db, rows, { applications })
  }
}
