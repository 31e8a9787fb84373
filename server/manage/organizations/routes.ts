import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, instanceAdmin, permissions, showing } from '#access/authorization/enforce.ts'
import { organizationSchema } from '#model/inventory/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { environmentRoutes } from './environment-routes.ts'
import { listOrganizations } from './lists.ts'
import {
  changeOrganization,
  createOrganization,
  findOrganization,
  removeOrganization,
} from './manage-organizations.ts'
import { type Refused, refuse } from './outcomes.ts'
import { projectRoutes } from './project-routes.ts'
import { organizationBody, organizationChange } from './schemas.ts'
import { type Rows, showOrganizations } from './show.ts'

export type OrganizationRoutes = { db: Database; baseUrl: () => string }

const tags = ['Organizations']
const params = Exactly({ id: Id })
const shown = ref(organizationSchema)

export const organizationRoutes: FastifyPluginAsyncTypebox<OrganizationRoutes> = async (app, deps) => {
  const { db, baseUrl } = deps
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: Rows) => showOrganizations(db, rows),
    refuse: (outcome: Refused) => refuse('organization', outcome),
  })
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
        response: { 200: Type.Array(shown), ...errorResponses(401, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listOrganizations(db, callerOf(request), { name }, page)),
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
        response: { 201: shown, ...errorResponses(400, 401, 403, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createOrganization(trx, by, callerOf(request), request.body),
      )
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
        response: { 200: shown, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findOrganization(db, request.params.id)),
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
        response: { 200: shown, ...errorResponses(400, 401, 403, 404, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeOrganization(trx, by, request.params.id, request.body, ifMatch),
      )
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
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeOrganization(trx, by, request.params.id, ifMatch),
      )
    },
  )
}
