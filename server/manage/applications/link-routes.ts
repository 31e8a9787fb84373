import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { type Pair, setLink } from './manage-links.ts'

const params = t.Exactly({ id: t.Id, child_id: t.Id })
type Ids = { id: number; child_id: number }

/** The same link, addressed from either side. */
const SIDES = [
  {
    path: '/resource-links/application/:id/server/:child_id',
    from: 'Application',
    to: 'Server',
    access: permissions('application', 'id', 'application:edit'),
    pairOf: ({ id, child_id }: Ids): Pair => ({ applicationId: id, serverId: child_id }),
  },
  {
    path: '/resource-links/server/:id/application/:child_id',
    from: 'Server',
    to: 'Application',
    access: permissions('server', 'id', 'server:run'),
    pairOf: ({ id, child_id }: Ids): Pair => ({ applicationId: child_id, serverId: id }),
  },
]

/** Each way to change a link: its route, and the state that it leads to. */
const CHANGES = [
  {
    method: 'PUT',
    operationId: (from: string, to: string) => `link${from}To${to}`,
    isLinked: true,
    summary: 'Link an application and a server',
    description:
      'From the next run on, the application is deployed to the server. Both must be in the same environment. Requires `application:edit` and `server:run`; only instance administrators can link a local server. Does nothing if they are already linked.',
    body: { body: t.emptyBody },
    errors: [400, 401, 403, 404, 415, 422],
  },
  {
    method: 'DELETE',
    operationId: (from: string, to: string) => `unlink${from}From${to}`,
    isLinked: false,
    summary: 'Unlink an application and a server',
    description:
      'What was deployed to the server stays there. Returns 409 while an unfinished run of the application uses the server. Does nothing if they are not linked.',
    body: {},
    errors: [401, 403, 404, 409, 422],
  },
]

export const linkRoutes: FastifyPluginAsyncTypebox<{ db: Database }> = async (app, { db }) => {
  for (const { path, from, to, access, pairOf } of SIDES) {
    for (const { method, operationId, isLinked, summary, description, body, errors } of CHANGES) {
      app.route({
        method,
        url: path,
        config: { access, bodyOptional: true },
        schema: {
          tags: ['Applications'],
          operationId: operationId(from, to),
          summary,
          description,
          params,
          ...body,
          response: { 204: t.Null(), ...t.errorResponses(...errors) },
        },
        handler: async (request, reply) => {
          const by = { actor: actorOf(request), caller: callerOf(request) }
          const pair = pairOf(request.params)
          unwrap(await db.transaction().execute((trx) => setLink(trx, by, pair, isLinked)))
          return reply.code(204).send(null)
        },
      })
    }
  }
}
