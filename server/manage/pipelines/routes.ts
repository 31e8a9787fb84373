import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { pipelineBody, pipelineChange, pipelineSchema } from '#model/pipelines/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { findPipeline, listPipelines, type PipelineRow, presentPipelines } from './find-pipelines.ts'
import { changePipeline, createPipeline } from './manage-pipelines.ts'
import { removePipeline } from './remove-pipelines.ts'
import { stepRoutes } from './step-routes.ts'

export type PipelineRoutes = { db: Database; baseUrl: () => string }

const tags = ['Pipelines']
const params = Exactly({ id: Id })
const resourceParams = Exactly({ resource_id: Id })
const pipelineReply = ref(pipelineSchema)

export const pipelineRoutes: FastifyPluginAsyncTypebox<PipelineRoutes> = async (app, deps) => {
  const { db, baseUrl } = deps
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: readonly PipelineRow[]) => presentPipelines(db, rows),
    refuse: toApiError,
  })
  await app.register(stepRoutes, deps)

  for (const type of ['application', 'server'] as const) {
    const word = type === 'application' ? 'Application' : 'Server'
    const whose = type === 'application' ? 'an application' : 'a server'

    app.get(
      `/pipelines/${type}/:resource_id`,
      {
        config: { access: permissions(type, 'resource_id', 'pipeline:view') },
        schema: {
          tags,
          operationId: `list${word}Pipelines`,
          summary: `List the pipelines of ${whose}`,
          description: 'Newest first, each with its steps.',
          params: resourceParams,
          querystring: Exactly({ ...pageQuery, ...nameFilter }),
          response: { 200: Type.Array(pipelineReply), ...errorResponses(401, 403, 404, 422) },
        },
      },
      (request, reply) => {
        const resource = { type, id: request.params.resource_id }
        return answer.list(request, reply, (page, name) => listPipelines(db, resource, name, page))
      },
    )

    app.post(
      `/pipelines/${type}/:resource_id`,
      {
        config: { access: permissions(type, 'resource_id', 'pipeline:add') },
        schema: {
          tags,
          operationId: `create${word}Pipeline`,
          summary: `Create a pipeline of ${whose}`,
          description:
            type === 'application'
              ? 'It runs on the servers that the application is linked to. A `deploy` has its built-in steps at once. When a local server is among them, this is for instance administrators.'
              : 'It runs on the server itself. On a local server this is for instance administrators.',
          params: resourceParams,
          body: pipelineBody,
          response: { 201: pipelineReply, ...errorResponses(400, 401, 403, 404, 415, 422) },
        },
      },
      (request, reply) => {
        const by = { actor: actorOf(request) }
        const resource = { type, id: request.params.resource_id }
        return answer.create(request, reply, (trx) =>
          createPipeline(trx, by, callerOf(request), resource, request.body),
        )
      },
    )
  }

  app.get(
    '/pipelines/:id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:view') },
      schema: {
        tags,
        operationId: 'readPipeline',
        summary: 'Read a pipeline',
        description: 'With its steps, in the order in which they run.',
        params,
        response: { 200: pipelineReply, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findPipeline(db, request.params.id)),
  )

  app.put(
    '/pipelines/:id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:edit') },
      schema: {
        tags,
        operationId: 'changePipeline',
        summary: 'Change a pipeline',
        description:
          'A field that is given replaces what is stored, whole; others stay. The operation cannot be changed once the pipeline has runs or hooks. Send `If-Match` with the `ETag` of your last read to be sure that nobody changed it meanwhile.',
        params,
        body: pipelineChange,
        response: { 200: pipelineReply, ...errorResponses(400, 401, 403, 404, 409, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changePipeline(trx, by, callerOf(request), request.params.id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/pipelines/:id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:remove') },
      schema: {
        tags,
        operationId: 'removePipeline',
        summary: 'Remove a pipeline',
        description:
          'Its runs stay. While it has hooks, or others run after it, this is 409; with `cascade` the hooks go too (which takes `hook:remove`) and the others no longer run after it. Never while a run is unfinished.',
        params,
        querystring: Exactly({ cascade: Type.Optional(Type.Boolean({ default: false })) }),
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      const { cascade = false } = request.query
      return answer.remove(request, reply, (trx, ifMatch) =>
        removePipeline(trx, by, callerOf(request), request.params.id, { cascade, ifMatch }),
      )
    },
  )
}
