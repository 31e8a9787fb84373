import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { resourceRoutes } from '#access/resource-routes.ts'
import type { EmbedDeps } from '#model/actions/embedded.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import type { InspectDeps } from './inspect-repository.ts'
import { inspectionRoutes } from './inspection-routes.ts'
import { changeApplication, createApplication, removeApplication } from './manage-applications.ts'
import { type Pair, setLink } from './manage-links.ts'
import {
  type ApplicationRow,
  findApplication,
  listApplications,
  presentApplications,
} from './read-applications.ts'
import {
  applicationBody,
  applicationChange,
  applicationRecordSchema,
  applicationVariableSchema,
  inspectionSchema,
  linkedResourceSchema,
  variableBody,
  variableChange,
} from './schemas.ts'
import {
  changeVariable,
  createVariable,
  findVariable,
  listVariables,
  presentVariable,
  removeVariable,
  type VariableRow,
} from './variables.ts'

export type ApplicationRoutes = EmbedDeps & InspectDeps & { box: SecretBox }

export const applicationRoutes: FastifyPluginAsyncTypebox<ApplicationRoutes> = async (app, deps) => {
  const { db } = deps
  await app.register(variableRoutes, deps)
  await app.register(linkRoutes, deps)
  await app.register(inspectionRoutes, deps)
  const applications = resourceRoutes(app, deps, {
    tag: 'Applications',
    name: 'application',
    record: applicationRecordSchema,
    present: ({ caller, scope }, rows: readonly ApplicationRow[]) =>
      presentApplications(deps, caller, scope, rows),
  })

  applications.list('/environments/:id/applications', {
    compress: true,
    description: 'Newest first, each with its latest deployments if you may view actions.',
    find: ({ id }, name, page) => listApplications(db, id, name, page),
  })

  applications.create('/environments/:id/applications', {
    description:
      'Says what to deploy and, with `linked_resources`, where. Setting a credential requires `credential:run`. Only instance administrators can use a repository on this machine or local servers.',
    body: applicationBody,
    errors: [415],
    run: createApplication,
  })

  applications.read('/applications/:id', {
    description: 'Includes its latest deployments if you may view actions.',
    find: ({ id }) => findApplication(db, id),
  })

  applications.change('/applications/:id', {
    description:
      'A list is replaced as a whole. Changing the repository requires `credential:run` if the application has a credential, or if one of its hooks sends a token. Only instance administrators can change what runs on a local server.',
    body: applicationChange,
    errors: [409, 415],
    run: changeApplication,
  })

  applications.remove('/applications/:id', {
    description:
      'Deletes its variables; its runs, and its files on servers, remain. Returns 409 while it has pipelines or is linked to servers. With `cascade`, these are removed too, along with the hooks of the pipelines, which requires `pipeline:remove` and `hook:remove`. Never removed while a run is unfinished.',
    query: t.cascadeQuery,
    run: removeApplication,
  })
}

export const applicationSchemas = [
  linkedResourceSchema,
  applicationRecordSchema,
  applicationVariableSchema,
  inspectionSchema,
]

const LOCAL = 'If the application is linked to a local server, only instance administrators can do this.'

export const variableRoutes: FastifyPluginAsyncTypebox<ApplicationRoutes> = async (app, deps) => {
  const { db, box } = deps
  const variables = resourceRoutes(app, deps, {
    tag: 'Applications',
    name: 'variable',
    permission: 'application',
    isPart: true,
    record: applicationVariableSchema,
    present: ({ caller, scope }, rows: readonly VariableRow[]) => {
      const mayEdit = can(caller, 'application:edit', scope)
      return rows.map((row) => presentVariable(row, { box, mayEdit }))
    },
  })

  variables.list('/applications/:id/variables', {
    description: 'Newest first. Values require `application:edit`; hidden values are never returned.',
    find: ({ id }, name, page) => listVariables(db, id, name, page),
  })

  variables.create('/applications/:id/variables', {
    description: `From the next run on, commands of the application have it in their environment. ${LOCAL}`,
    body: variableBody,
    errors: [409, 415],
    run: (trx, call) => createVariable(trx, { ...call, box }),
  })

  variables.read('/applications/:id/variables/:variable_id', {
    description: 'The value requires `application:edit`; a hidden value is never returned.',
    find: ({ parentId, id }) => findVariable(db, parentId, id),
  })

  variables.change('/applications/:id/variables/:variable_id', {
    description: `To make a hidden variable visible, send its value. ${LOCAL}`,
    body: variableChange,
    errors: [415],
    run: (trx, call) => changeVariable(trx, { ...call, box }),
  })

  variables.remove('/applications/:id/variables/:variable_id', {
    description: LOCAL,
    run: removeVariable,
  })
}

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

export const linkRoutes: FastifyPluginAsyncTypebox<ApplicationRoutes> = async (app, { db }) => {
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
