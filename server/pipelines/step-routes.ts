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
import { toApiError } from '#http/refusals.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import { loadSteps, presentSteps } from './load-steps.ts'
import { changeStep, createStep, findStep, removeStep, type StepOutcome } from './manage-steps.ts'
import { type PipelineStep, pipelineStepSchema, stepBody, stepChange } from './schemas.ts'

export type StepRoutes = { db: Database; baseUrl: () => string }

const tags = ['Pipelines']
const pipelineParams = Exactly({ id: Id })
const stepParams = Exactly({ id: Id, step_id: Id })
const stepReply = ref(pipelineStepSchema)

export const stepRoutes: FastifyPluginAsyncTypebox<StepRoutes> = async (app, { db, baseUrl }) => {
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
        response: { 200: Type.Array(stepReply), ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const part = (request.query['filter[name]'] ?? '').toLowerCase()
      const steps = presentSteps(await loadSteps(db, [request.params.id])).filter(({ name }) =>
        name.toLowerCase().includes(part),
      )
      const shown = steps.slice(page.offset, page.offset + page.limit)
      const hasMore = page.offset + shown.length < steps.length && shown.length > 0
      describePage(request, reply, baseUrl(), page, { total: steps.length, hasMore })
      return shown
    },
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
        response: { 201: stepReply, ...refusals(400, 401, 403, 404, 409, 415, 422) },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const by = { actor: actorOf(request) }
      const outcome = await db
        .transaction()
        .execute((trx) => createStep(trx, by, callerOf(request), id, request.body))
      return show(reply.code(201), outcome)
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
        response: { 200: stepReply, ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const found = await findStep(db, request.params.id, request.params.step_id)
      if (!found) throw notFound()
      return show(reply, { kind: 'done', ...found })
    },
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
        response: { 200: stepReply, ...refusals(400, 401, 403, 404, 409, 412, 415, 422) },
      },
    },
    async (request, reply) => {
      const { id, step_id } = request.params
      const by = { actor: actorOf(request) }
      const outcome = await db
        .transaction()
        .execute((trx) =>
          changeStep(trx, by, callerOf(request), id, step_id, request.body, readIfMatch(request)),
        )
      return show(reply, outcome)
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
        response: { 204: Type.Null(), ...refusals(401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const { id, step_id } = request.params
      const by = { actor: actorOf(request) }
      const outcome = await db
        .transaction()
        .execute((trx) => removeStep(trx, by, callerOf(request), id, step_id))
      if (outcome.kind !== 'removed') throw toApiError(outcome)
      return reply.code(204).send(null)
    },
  )
}

function show(reply: FastifyReply, outcome: StepOutcome): PipelineStep {
  if (outcome.kind !== 'done') throw toApiError(outcome)
  sendWithETag(reply, outcome.version)
  return outcome.step
}
