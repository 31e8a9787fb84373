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
import { type Project, projectSchema } from '#inventory/schemas.ts'
import { listProjects } from './lists.ts'
import { changeProject, createProject, findProject, removeProject } from './manage-projects.ts'
import { refuse, type SaveOutcome } from './outcomes.ts'
import { cascadeQuery, projectBody, projectChange } from './schemas.ts'
import { showProjects } from './show.ts'

const tags = ['Projects']
const params = Exactly({ id: Id })
const shown = ref(projectSchema)

export const projectRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  app.get(
    '/organizations/:id/projects',
    {
      config: { access: permissions('organization', 'id', 'organization:view') },
      schema: {
        tags,
        operationId: 'listProjects',
        summary: 'List the projects of an organization',
        description: 'Those on which you have `project:view`, newest first.',
        params,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(shown), ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const filters = { name: request.query['filter[name]'] }
      const { ids, extent } = await listProjects(db, callerOf(request), request.params.id, filters, page)
      describePage(request, reply, baseUrl(), page, extent)
      return showProjects(db, ids)
    },
  )

  app.post(
    '/organizations/:id/projects',
    {
      config: { access: permissions('organization', 'id', 'project:add') },
      schema: {
        tags,
        operationId: 'createProject',
        summary: 'Create a project',
        description: 'Its name must be free in the organization.',
        params,
        body: projectBody,
        response: { 201: shown, ...refusals(400, 401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) => createProject(trx, { actor: actorOf(request) }, callerOf(request), params.id, body))
      return show(reply.code(201), outcome)
    },
  )

  app.get(
    '/projects/:id',
    {
      config: { access: permissions('project', 'id', 'project:view') },
      schema: {
        tags,
        operationId: 'readProject',
        summary: 'Read a project',
        description: 'With its organization, and how much is in it.',
        params,
        response: { 200: shown, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const row = await findProject(db, id)
      return show(reply, row ? { kind: 'done', id, version: row.row_version } : { kind: 'gone' })
    },
  )

  app.put(
    '/projects/:id',
    {
      config: { access: permissions('project', 'id', 'project:edit') },
      schema: {
        tags,
        operationId: 'changeProject',
        summary: 'Change a project',
        description:
          'Fields that are not given stay. `If-Match` with the `ETag` of your last read is optional.',
        params,
        body: projectChange,
        response: { 200: shown, ...refusals(400, 401, 403, 404, 412, 422) },
      },
    },
    async (request, reply) => {
      const { params, body } = request
      const outcome = await db
        .transaction()
        .execute((trx) =>
          changeProject(trx, { actor: actorOf(request) }, params.id, body, readIfMatch(request)),
        )
      return show(reply, outcome)
    },
  )

  app.delete(
    '/projects/:id',
    {
      config: { access: permissions('project', 'id', 'project:remove') },
      schema: {
        tags,
        operationId: 'removeProject',
        summary: 'Remove a project',
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
          removeProject(trx, { actor: actorOf(request) }, callerOf(request), request.params.id, wish),
        )
      if (outcome.kind !== 'removed') throw refuse('project', outcome)
      return reply.code(204).send(null)
    },
  )

  async function show(reply: FastifyReply, outcome: SaveOutcome): Promise<Project> {
    if (outcome.kind !== 'done') throw refuse('project', outcome)
    const [project] = await showProjects(db, [outcome.id])
    if (!project) throw notFound()
    sendWithETag(reply, outcome.version)
    return project
  }
}
