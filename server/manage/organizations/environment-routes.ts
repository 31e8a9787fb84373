import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { environmentSchema } from '#model/inventory/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { listEnvironments } from './lists.ts'
import {
  archiveEnvironment,
  changeEnvironment,
  createEnvironment,
  findEnvironment,
  removeEnvironment,
  unarchiveEnvironment,
} from './manage-environments.ts'
import { type Refused, refuse } from './outcomes.ts'
import { cascadeQuery, environmentBody, environmentChange } from './schemas.ts'
import { type Rows, showEnvironments } from './show.ts'

const tags = ['Environments']
const params = Exactly({ id: Id })
const shown = ref(environmentSchema)

export const environmentRoutes: FastifyPluginAsyncTypebox<{ db: Database; baseUrl: () => string }> = async (
  app,
  { db, baseUrl },
) => {
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: Rows) => showEnvironments(db, rows),
    refuse: (outcome: Refused) => refuse('environment', outcome),
  })

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
        response: { 200: Type.Array(shown), ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => {
      const { organization_id } = scopeOf(request)
      const place = { organization_id, project_id: request.params.id }
      return answer.list(request, reply, (page, name) =>
        listEnvironments(db, callerOf(request), place, { name }, page),
      )
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
        response: { 201: shown, ...errorResponses(400, 401, 403, 404, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createEnvironment(trx, by, request.params.id, request.body),
      )
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
        response: { 200: shown, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findEnvironment(db, request.params.id)),
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
        response: { 200: shown, ...errorResponses(400, 401, 403, 404, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeEnvironment(trx, by, request.params.id, request.body, ifMatch),
      )
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
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      const { cascade = false } = request.query
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeEnvironment(trx, by, callerOf(request), request.params.id, { cascade, ifMatch }),
      )
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
        response: { 200: shown, ...errorResponses(401, 403, 404, 409, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx) => archiveEnvironment(trx, by, request.params.id))
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
        response: { 200: shown, ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx) => unarchiveEnvironment(trx, by, request.params.id))
    },
  )
}
