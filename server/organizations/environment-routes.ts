import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions, placeOf } from '#access/enforce.ts'
import { actorOf } from '#audit/actor.ts'
import type { Database } from '#database/connect.ts'
import { notFound } from '#http/errors.ts'
import { readIfMatch, sendWithETag } from '#http/if-match.ts'
import { nameFilter } from '#http/name-filter.ts'
import { describePage, pageOf, pageQuery } from '#http/pagination.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import { type Environment, environmentSchema } from '#inventory/schemas.ts'
import { listEnvironments } from './lists.ts'
import {
  archiveEnvironment,
  changeEnvironment,
  createEnvironment,
  findEnvironment,
  removeEnvironment,
  unarchiveEnvironment,
} from './manage-environments.ts'
import { refuse, type SaveOutcome } from './outcomes.ts'
import { cascadeQuery, environmentBody, environmentChange } from './schemas.ts'
import { showEnvironments } from './show.ts'

const tags = ['Environments']
const params = Exactly({ id: Id })
const shown = ref(environmentSchema)

export const environmentRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  app.get(
    '/projects/:id/environments',
    {
      config: { access: permissions('project', 'id', 'project:view') },
      schema: {
        tags,
        operationId: 'listEnvironments',
        summary: 'List the environments of a project',
        description: 'Those on which you have `environment:view`, newest first; archived ones too.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(shown), ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const filters = { name: request.query['filter[name]'] }
      const { organization_id } = placeOf(request)
      const place = { organization_id, project_id: request.params.id }
      const { ids, extent } = await listEnvironments(db, callerOf(request), place, filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return showEnvironments(db, ids)
    },
  )

  app.post(
    '/projects/:id/environments',
    {
      config: { access: permissions('project', 'id', 'environment:add') },
      schema: {
        tags,
        operationId: 'createEnvironment',
        summary: 'Create an environment',
        description: 'Its name must be free in the project.',
        params,
        body: environmentBody,
        response: { 201: shown, ...refusals(400, 401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) => createEnvironment(trx, { actor: actorOf(request) }, params.id, body))
      return show(reply.code(201), outcome)
    },
  )

  app.get(
    '/environments/:id',
    {
      config: { access: permissions('environment', 'id', 'environment:view') },
      schema: {
        tags,
        operationId: 'readEnvironment',
        summary: 'Read an environment',
        description: 'With its project, and how much is in it.',
        params,
        response: { 200: shown, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const row = await findEnvironment(db, id)
      return show(reply, row ? { kind: 'done', id, version: row.row_version } : { kind: 'gone' })
    },
  )

  app.put(
    '/environments/:id',
    {
      config: { access: permissions('environment', 'id', 'environment:edit') },
      schema: {
        tags,
        operationId: 'changeEnvironment',
        summary: 'Change an environment',
        description:
          'Fields that are not given stay. `If-Match` with the `ETag` of your last read is optional.',
        params,
        body: environmentChange,
        response: { 200: shown, ...refusals(400, 401, 403, 404, 412, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) =>
          changeEnvironment(trx, { actor: actorOf(request) }, params.id, body, readIfMatch(request)),
        )
      return show(reply, outcome)
    },
  )

  app.delete(
    '/environments/:id',
    {
      config: { access: permissions('environment', 'id', 'environment:remove') },
      schema: {
        tags,
        operationId: 'removeEnvironment',
        summary: 'Remove an environment',
        description:
          'An empty one; with `cascade=true` also one that is not, for those who may remove everything in it. Never while runs have not ended. What its runs did stays to be seen.',
        params,
        querystring: cascadeQuery,
        response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const wish = { cascade: request.query.cascade ?? false }
      const outcome = await db
        .transaction()
        .execute((trx) =>
          removeEnvironment(trx, { actor: actorOf(request) }, callerOf(request), request.params.id, wish),
        )
      if (outcome.kind !== 'removed') throw refuse('environment', outcome)
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/environments/:id/archive',
    {
      config: { access: permissions('environment', 'id', 'environment:edit'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'archiveEnvironment',
        summary: 'Archive an environment',
        description: 'Nothing runs in it until it is unarchived. Not while runs have not ended.',
        params,
        response: { 200: shown, ...refusals(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => archiveEnvironment(trx, { actor: actorOf(request) }, request.params.id))
      return show(reply, outcome)
    },
  )

  app.post(
    '/environments/:id/unarchive',
    {
      config: { access: permissions('environment', 'id', 'environment:edit'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'unarchiveEnvironment',
        summary: 'Unarchive an environment',
        description: 'Its pipelines can run again.',
        params,
        response: { 200: shown, ...refusals(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => unarchiveEnvironment(trx, { actor: actorOf(request) }, request.params.id))
      return show(reply, outcome)
    },
  )

  async function show(reply: FastifyReply, outcome: SaveOutcome): Promise<Environment> {
    if (outcome.kind !== 'done') throw refuse('environment', outcome)
    const [environment] = await showEnvironments(db, [outcome.id])
    if (!environment) throw notFound()
    sendWithETag(reply, outcome.version)
    return environment
  }
}
