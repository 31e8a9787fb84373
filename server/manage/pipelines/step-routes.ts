import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { pipelineStepSchema, stepBody, stepChange } from '#model/pipelines/schemas.ts'
import type { Database } from '#platform/database/connect.ts'
import { answerRecords } from '#platform/http/answer-records.ts'
import { nameFilter } from '#platform/http/name-filter.ts'
import { pageQuery } from '#platform/http/pagination.ts'
import { toApiError } from '#platform/http/problems.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { type FoundStep, findStep, listSteps } from './find-steps.ts'
import { changeStep, createStep, removeStep } from './manage-steps.ts'

export type StepRoutes = { db: Database; baseUrl: () => string }

const tags = ['Pipelines']
const pipelineParams = Exactly({ id: Id })
const stepParams = Exactly({ id: Id, step_id: Id })
const stepReply = ref(pipelineStepSchema)

export const stepRoutes: FastifyPluginAsyncTypebox<StepRoutes> = async (app, { db, baseUrl }) => {
  const answer = answerRecords({
    db,
    baseUrl,
    present: (_, rows: readonly FoundStep[]) => rows.map(({ step }) => step),
    refuse: toApiError,
  })

  app.get(
    '/pipelines/:id/steps',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:view') },
      schema: {
        tags,
        operationId: 'listSteps',
        summary: 'List the steps of a pipeline',
        description: 'In the order in which they run, built-in ones included.',
        params: pipelineParams,
        querystring: Exactly({ ...pageQuery, ...nameFilter }),
        response: { 200: Type.Array(stepReply), ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) =>
      answer.list(request, reply, (page, name) => listSteps(db, request.params.id, name, page)),
  )

  app.post(
    '/pipelines/:id/steps',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:edit') },
      schema: {
        tags,
        operationId: 'createStep',
        summary: 'Add a step to a pipeline',
        description:
          'It follows the step that `trigger_after` names, else it is the last. Runs that were started before do not have it. When the pipeline runs on a local server, this is for instance administrators.',
        params: pipelineParams,
        body: stepBody,
        response: { 201: stepReply, ...errorResponses(400, 401, 403, 404, 409, 415, 422) },
      },
    },
    (request, reply) => {
      const by = { actor: actorOf(request) }
      return answer.create(request, reply, (trx) =>
        createStep(trx, by, callerOf(request), request.params.id, request.body),
      )
    },
  )

  app.get(
    '/pipelines/:id/steps/:step_id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:view') },
      schema: {
        tags,
        operationId: 'readStep',
        summary: 'Read a step of a pipeline',
        description: 'As the next run will do it.',
        params: stepParams,
        response: { 200: stepReply, ...errorResponses(401, 404, 422) },
      },
    },
    (request, reply) => answer.read(request, reply, findStep(db, request.params.id, request.params.step_id)),
  )

  app.put(
    '/pipelines/:id/steps/:step_id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:edit') },
      schema: {
        tags,
        operationId: 'changeStep',
        summary: 'Change a step of a pipeline',
        description:
          'A field that is given replaces what is stored; others stay, the place too unless `trigger_after` is given. Runs that were started before do what the step said then. Of a built-in step only `timeout_seconds` can be changed. When the pipeline runs on a local server, this is for instance administrators.',
        params: stepParams,
        body: stepChange,
        response: { 200: stepReply, ...errorResponses(400, 401, 403, 404, 409, 412, 415, 422) },
      },
    },
    (request, reply) => {
      const { id, step_id } = request.params
      const by = { actor: actorOf(request) }
      return answer.change(request, reply, (trx, ifMatch) =>
        changeStep(trx, by, callerOf(request), id, step_id, request.body, ifMatch),
      )
    },
  )

  app.delete(
    '/pipelines/:id/steps/:step_id',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:edit') },
      schema: {
        tags,
        operationId: 'removeStep',
        summary: 'Remove a step of a pipeline',
        description:
          'Runs that were started before still do it. Built-in steps stay. When the pipeline runs on a local server, this is for instance administrators.',
        params: stepParams,
        response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 409, 412, 422) },
      },
    },
    (request, reply) => {
      const { id, step_id } = request.params
      const by = { actor: actorOf(request) }
      return answer.remove(request, reply, (trx, ifMatch) =>
        removeStep(trx, by, callerOf(request), id, step_id, ifMatch),
      )
    },
  )
}
