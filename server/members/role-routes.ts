import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions } from '#access/enforce.ts'
import { actorOf } from '#audit/actor.ts'
import type { Database } from '#database/connect.ts'
import { notFound } from '#http/errors.ts'
import { readIfMatch, sendWithETag } from '#http/if-match.ts'
import { nameFilter } from '#http/name-filter.ts'
import { describePage, pageOf, pageQuery } from '#http/pagination.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import { changeRole, createRole, findRole, listRoles, removeRole } from './manage-roles.ts'
import { type RoleOutcome, refuse } from './outcomes.ts'
import { type Role, roleBody, roleChange, roleSchema } from './schemas.ts'

const tags = ['Roles']
const params = Exactly({ id: Id })
const shown = ref(roleSchema)

export const roleRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
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
        response: { 200: Type.Array(shown), ...refusals(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const filters = { name: request.query['filter[name]'] }
      const { items, extent } = await listRoles(db, request.params.id, filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return items
    },
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
        response: { 201: shown, ...refusals(400, 401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) => createRole(trx, { actor: actorOf(request) }, callerOf(request), params.id, body))
      return show(reply.code(201), outcome)
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
        response: { 200: shown, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const row = await findRole(db, request.params.id)
      return show(reply, row ? { kind: 'done', id: row.id, version: row.row_version } : { kind: 'gone' })
    },
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
        response: { 200: shown, ...refusals(400, 401, 403, 404, 412, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const [deps, caller, ifMatch] = [{ actor: actorOf(request) }, callerOf(request), readIfMatch(request)]
      const outcome = await db
        .transaction()
        .execute((trx) => changeRole(trx, deps, caller, params.id, body, ifMatch))
      return show(reply, outcome)
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
        response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => removeRole(trx, { actor: actorOf(request) }, request.params.id))
      if (outcome.kind !== 'removed') throw refuse(outcome)
      return reply.code(204).send(null)
    },
  )

  async function show(reply: FastifyReply, outcome: RoleOutcome): Promise<Role> {
    if (outcome.kind !== 'done') throw refuse(outcome)
    const row = await findRole(db, outcome.id)
    if (!row) throw notFound()
    sendWithETag(reply, outcome.version)
    const { row_version, ...role } = row
    return role
  }
}
