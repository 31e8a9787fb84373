import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { projectSchema } from '#model/inventory/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { listProjects } from './lists.ts'
import { changeProject, createProject, findProject, removeProject } from './manage-projects.ts'
import { type Refused, refuse } from './outcomes.ts'
import { cascadeQuery, projectBody, projectChange } from './schemas.ts'
import { type Rows, showProjects } from './show.ts'

const tags = ['Projects']
const params = Exactly({ id: Id })
const shown = ref(projectSchema)

export const projectRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: Rows) => showProjects(db, rows),
    refuse: (outcome: Refused) => refuse('project', outcome),
  })

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
        response: { 200: Type.Array(shown), ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) =>
        listProjects(db, callerOf(request), request.params.id, { name }, page),
      ),
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
        response: { 201: shown, ...errorResponses(400, 401, 403, 404, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createProject(trx, by, callerOf(request), request.params.id, request.body),
      )
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
        response: { 200: shown, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findProject(db, request.params.id)),
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
        response: { 200: shown, ...errorResponses(400, 401, 403, 404, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeProject(trx, by, request.params.id, request.body, ifMatch),
      )
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
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      const { cascade = false } = request.query
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeProject(trx, by, callerOf(request), request.params.id, { cascade, ifMatch }),
      )
    },
  )
}
