import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { changeRole, createRole, findRole, listRoles, type RoleRow, removeRole } from './manage-roles.ts'
import { refuse } from './outcomes.ts'
import { roleBody, roleChange, roleSchema } from './schemas.ts'

const tags = ['Roles']
const params = Exactly({ id: Id })
const shown = ref(roleSchema)

export const roleRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: readonly RoleRow[]) => rows.map(({ row_version, ...role }) => role),
    refuse,
  })

  app.get(
    '/organizations/:id/roles',
    {
      config: { access: permissions('organization', 'id', 'member:view') },
      schema: {
        tags,
        operationId: 'listRoles',
        summary: 'List the roles that an organization has made',
        description: 'Newest first. The built-in roles (owner, admin, developer, viewer) are not among them.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(shown), ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listRoles(db, request.params.id, name, page)),
  )

  app.post(
    '/organizations/:id/roles',
    {
      config: { access: permissions('organization', 'id', 'member:add') },
      schema: {
        tags,
        operationId: 'createRole',
        summary: 'Create a role',
        description: 'Of permissions that you have on the organization yourself.',
        params,
        body: roleBody,
        response: { 201: shown, ...errorResponses(400, 401, 403, 404, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createRole(trx, by, callerOf(request), request.params.id, request.body),
      )
    },
  )

  app.get(
    '/roles/:id',
    {
      config: { access: permissions('role', 'id', 'member:view') },
      schema: {
        tags,
        operationId: 'readRole',
        summary: 'Read a role',
        description: 'One that an organization has made.',
        params,
        response: { 200: shown, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findRole(db, request.params.id)),
  )

  app.put(
    '/roles/:id',
    {
      config: { access: permissions('role', 'id', 'member:edit') },
      schema: {
        tags,
        operationId: 'changeRole',
        summary: 'Change a role',
        description:
          'Counts at once for everybody who has it. Fields that are not given stay. `If-Match` with the `ETag` of your last read is optional.',
        params,
        body: roleChange,
        response: { 200: shown, ...errorResponses(400, 401, 403, 404, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeRole(trx, by, callerOf(request), request.params.id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/roles/:id',
    {
      config: { access: permissions('role', 'id', 'member:remove') },
      schema: {
        tags,
        operationId: 'removeRole',
        summary: 'Remove a role',
        description: 'One that nobody has.',
        params,
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.remove(request, reply, (trx, ifMatch) => removeRole(trx, by, request.params.id, ifMatch))
    },
  )
}
