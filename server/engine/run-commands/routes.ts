import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { type Action, actionSchema } from '#model/actions/schemas.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { ApiError, notFound } from '#platform/http/errors.ts'
import { toApiError } from '#platform/http/problems.ts'
import { originOf } from '#platform/http/requests.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { cancelRun } from './cancel-run.ts'
import { planWish } from './plan-run.ts'
import { retryAction } from './retry-action.ts'
import { type RunDeps, type RunOutcome, runPipeline, type Unsettled } from './run-pipeline.ts'
import { emptyBody, runBody, runPlanSchema } from './schemas.ts'
import { createRunShower } from './show-run.ts'
import type { Asker } from './start-run.ts'

export type RunRoutes = RunDeps & { tree: Tree; baseUrl: () => string }

const tags = ['Actions']
const params = Exactly({ id: Id })
const refused = errorResponses(400, 401, 403, 404, 409, 415, 422, 503)

export const runRoutes: FastifyPluginAsyncTypebox<RunRoutes> = async (app, deps) => {
  const showRun = createRunShower(deps)

  app.post(
    '/pipelines/:id/actions',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'runPipeline',
        summary: 'Run a pipeline',
        params,
        body: runBody,
        response: { 201: ref(actionSchema), ...refused },
      },
    },
    async (request, reply) => {
      const outcome = await runPipeline(deps, request.params.id, request.body, askerOf(request))
      reply.code(201)
      return showStarted(request, outcome)
    },
  )

  app.post(
    '/pipelines/:id/plan',
    {
      config: { access: permissions('pipeline', 'id', 'pipeline:view'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'planPipeline',
        summary: 'See what a run would do',
        description:
          'Takes what a run takes, is refused for the same reasons, and runs nothing: targets, in batches, with their steps.',
        params,
        body: runBody,
        response: { 200: ref(runPlanSchema), ...refused },
      },
    },
    async (request) => {
      const outcome = await planWish(deps.db, request.params.id, request.body)
      if (outcome.kind !== 'planned') throw toRefusal(outcome)
      return outcome.plan
    },
  )

  app.post(
    '/actions/:id/retry',
    {
      config: { access: permissions('action', 'id', 'pipeline:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'retryAction',
        summary: 'Run an action again',
        description:
          'A new action with the same servers, variables and commit, and the steps that the pipeline has today. The first one must have ended.',
        params,
        body: emptyBody,
        response: { 201: ref(actionSchema), ...refused },
      },
    },
    async (request, reply) => {
      const outcome = await retryAction(deps, request.params.id, askerOf(request))
      reply.code(201)
      return showStarted(request, outcome)
    },
  )

  app.post(
    '/actions/:id/cancel',
    {
      config: { access: permissions('action', 'id', 'pipeline:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'cancelAction',
        summary: 'Cancel an action',
        description:
          'What has not begun ends at once; steps that run are stopped. The answer is the action as it is by then.',
        params,
        body: emptyBody,
        response: { 202: ref(actionSchema), ...refused },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const outcome = await cancelRun(deps, id, callerOf(request))
      switch (outcome.kind) {
        case 'cancelled':
          reply.code(202)
          return showRun(callerOf(request), environmentOf(request), id)
        case 'over':
          throw new ApiError('conflict', 'The action has ended already.')
        case 'gone':
          throw notFound()
      }
    },
  )

  async function showStarted(request: FastifyRequest, outcome: RunOutcome): Promise<Action> {
    if (outcome.kind !== 'started') throw toRefusal(outcome)
    return showRun(callerOf(request), environmentOf(request), outcome.actionId)
  }
}

function toRefusal(outcome: Unsettled): ApiError {
  return outcome.kind === 'impossible' ? new ApiError('conflict', outcome.reason) : toApiError(outcome)
}

function environmentOf(request: FastifyRequest): number {
  return scopeOf(request).environment_id!
}

function askerOf(request: FastifyRequest): Asker {
  const { id, name, email } = callerOf(request)
  return { id, name, email, address: request.ip, origin: originOf(request) }
}
