import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { callerOf, instanceAdmin, permissions, showing } from '#access/enforce.ts'
import { actorOf } from '#audit/actor.ts'
import type { Database } from '#database/connect.ts'
import { notFound } from '#http/errors.ts'
import { readIfMatch, sendWithETag } from '#http/if-match.ts'
import { nameFilter } from '#http/name-filter.ts'
import { describePage, pageOf, pageQuery } from '#http/pagination.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import { type Organization, organizationSchema } from '#inventory/schemas.ts'
import { environmentRoutes } from './environment-routes.ts'
import { listOrganizations } from './lists.ts'
import {
  changeOrganization,
  createOrganization,
  findOrganization,
  removeOrganization,
} from './manage-organizations.ts'
import { refuse, type SaveOutcome } from './outcomes.ts'
import { projectRoutes } from './project-routes.ts'
import { organizationBody, organizationChange } from './schemas.ts'
import { showOrganizations } from './show.ts'

export type OrganizationRoutes = { db: Database; baseUrl: () => string }

const tags = ['Organizations']
const params = Exactly({ id: Id })
const shown = ref(organizationSchema)

export const organizationRoutes: FastifyPluginAsyncTypebox<OrganizationRoutes> = async (app, deps) => {
  const { db, baseUrl } = deps
  await app.register(projectRoutes, deps)
  await app.register(environmentRoutes, deps)

  app.get(
    '/organizations',
    {
      config: { access: showing('organization:view') },
      schema: {
        tags,
        operationId: 'listOrganizations',
        summary: 'List organizations',
        description: 'Those on which you have `organization:view`, newest first.',
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(shown), ...refusals(401, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const filters = { name: request.query['filter[name]'] }
      const { ids, extent } = await listOrganizations(db, callerOf(request), filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return showOrganizations(db, ids)
    },
  )

  app.post(
    '/organizations',
    {
      config: { access: instanceAdmin },
      schema: {
        tags,
        operationId: 'createOrganization',
        summary: 'Create an organization',
        description:
          'You become its owner. `url_slug` is made from the name, and stays when the name changes.',
        body: organizationBody,
        response: { 201: shown, ...refusals(400, 401, 403, 422) },
      },
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) =>
          createOrganization(trx, { actor: actorOf(request) }, callerOf(request), request.body),
        )
      return show(reply.code(201), outcome)
    },
  )

  app.get(
    '/organizations/:id',
    {
      config: { access: permissions('organization', 'id', 'organization:view') },
      schema: {
        tags,
        operationId: 'readOrganization',
        summary: 'Read an organization',
        description: 'With its owner, and how much is in it.',
        params,
        response: { 200: shown, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const row = await findOrganization(db, id)
      return show(reply, row ? { kind: 'done', id, version: row.row_version } : { kind: 'gone' })
    },
  )

  app.put(
    '/organizations/:id',
    {
      config: { access: permissions('organization', 'id', 'organization:edit') },
      schema: {
        tags,
        operationId: 'changeOrganization',
        summary: 'Change an organization',
        description:
          'Fields that are not given stay. `If-Match` with the `ETag` of your last read is optional.',
        params,
        body: organizationChange,
        response: { 200: shown, ...refusals(400, 401, 403, 404, 412, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) =>
          changeOrganization(trx, { actor: actorOf(request) }, params.id, body, readIfMatch(request)),
        )
      return show(reply, outcome)
    },
  )

  app.delete(
    '/organizations/:id',
    {
      config: { access: permissions('organization', 'id', 'organization:remove') },
      schema: {
        tags,
        operationId: 'removeOrganization',
        summary: 'Remove an organization',
        description: 'Only one without projects and credentials. Its members lose their roles in it.',
        params,
        response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => removeOrganization(trx, { actor: actorOf(request) }, request.params.id))
      if (outcome.kind !== 'removed') throw refuse('organization', outcome)
      return reply.code(204).send(null)
    },
  )

  async function show(reply: FastifyReply, outcome: SaveOutcome): Promise<Organization> {
    if (outcome.kind !== 'done') throw refuse('organization', outcome)
    const [organization] = await showOrganizations(db, [outcome.id])
    if (!organization) throw notFound()
    sendWithETag(reply, outcome.version)
    return organization
  }
}
