import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { type Access, callerOf, permissions } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id } from '#platform/http/schemas.ts'
import { link, type Pair, unlink } from './manage-links.ts'

export type LinkRoutes = { db: Database }

const tags = ['Applications']
const params = Exactly({ id: Id, child_id: Id })

type Way = {
  path: string
  name: string
  access: Access
  pairOf(params: { id: number; child_id: number }): Pair
}

/** The same link, said from either side. */
const WAYS: Way[] = [
  {
    path: '/resource-links/application/:id/server/:child_id',
    name: 'ApplicationToServer',
    access: permissions('application', 'id', 'application:edit'),
    pairOf: ({ id, child_id }) => ({ applicationId: id, serverId: child_id }),
  },
  {
    path: '/resource-links/server/:id/application/:child_id',
    name: 'ServerToApplication',
    access: permissions('server', 'id', 'server:run'),
    pairOf: ({ id, child_id }) => ({ applicationId: child_id, serverId: id }),
  },
]

export const linkRoutes: FastifyPluginAsyncTypebox<LinkRoutes> = async (app, { db }) => {
  for (const { path, name, access, pairOf } of WAYS) {
    app.put(
      path,
      {
        config: { access, bodyOptional: true },
        schema: {
          tags,
          operationId: `link${name}`,
          summary: 'Link an application and a server',
          description:
            'From the next run on, the application is deployed to the server; both are of one environment. Takes `application:edit` and `server:run`; a local server is for instance administrators. That they are linked already is fine.',
          params,
          body: Exactly({}, { examples: [{}] }),
          response: { 204: Type.Null(), ...errorResponses(400, 401, 403, 404, 415, 422) },
        },
      },
      async (request, reply) => {
        const by = { actor: actorOf(request) }
        const outcome = await db
          .transaction()
          .execute((trx) => link(trx, by, callerOf(request), pairOf(request.params)))
        if (outcome.kind !== 'done') throw toApiError(outcome)
        return reply.code(204).send(null)
      },
    )

    app.delete(
      path,
      {
        config: { access },
        schema: {
          tags,
          operationId: `unlink${name}`,
          summary: 'Unlink an application and a server',
          description:
            'What was deployed to the server stays there. 409 while an unfinished run of the application uses the server. That they are not linked is fine.',
          params,
          response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 422) },
        },
      },
      async (request, reply) => {
        const by = { actor: actorOf(request) }
        const outcome = await db
          .transaction()
          .execute((trx) => unlink(trx, by, callerOf(request), pairOf(request.params)))
        if (outcome.kind !== 'done') throw toApiError(outcome)
        return reply.code(204).send(null)
      },
    )
  }
}
