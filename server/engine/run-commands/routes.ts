// The run-commands room: users start, plan, retry and cancel runs. Scheduling decides when a run begins, and the
// runner does its work.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import type { Caller } from '#access/authorization/caller.ts'
import { callerOf, permissions, scopeOf, withTokens } from '#access/authorization/enforce.ts'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { type Action, type ActionSummary, actionSchema } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { unwrap } from '#platform/http/problems.ts'
import { originOf } from '#platform/http/requests.ts'
import { Exactly, emptyBody, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { planPipeline } from './plan-run.ts'
import { runBody, runPlanSchema } from './schemas.ts'
import { type Requester, type RunDeps, retryAction, runPipeline, type StartOutcome } from './start-run.ts'

export type RunRoutes = RunDeps & { tree: Tree; baseUrl: () => string }

const tags = ['Actions']
const params = Exactly({ id: Id })
const problems = errorResponses(400, 401, 403, 404, 409, 415, 422, 503)

export const runRoutes: FastifyPluginAsyncTypebox<RunRoutes> = async (app, deps) => {
  const readRun = createRunReader(deps)

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
        response: { 201: ref(actionSchema), ...problems },
      },
    },
    async (request, reply) => {
      const outcome = await runPipeline(deps, request.params.id, request.body, requesterOf(request))
      reply.code(201)
      return showStarted(request, outcome)
    },
  )

  app.post(
    '/pipelines/:id/plan',
    {
      config: {
        access: withTokens('run', permissions('pipeline', 'id', 'pipeline:view')),
        bodyOptional: true,
      },
      schema: {
        tags,
        operationId: 'planPipeline',
        summary: 'Preview a run',
        description:
          'Takes the same body as a run and applies the same checks, but starts nothing. Returns the targets, in batches, with their steps.',
        params,
        body: runBody,
        response: { 200: ref(runPlanSchema), ...problems },
      },
    },
    async (request) => {
      const outcome = await planPipeline(deps.db, request.params.id, request.body)
      return unwrap(outcome).plan
    },
  )

  app.post(
    '/actions/:id/retry',
    {
      config: { access: permissions('action', 'id', 'pipeline:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'retryAction',
        summary: 'Retry an action',
        description:
          'Starts a new action with the same servers, variables and commit, and the current steps of the pipeline. The original action must have ended.',
        params,
        body: emptyBody,
        response: { 201: ref(actionSchema), ...problems },
      },
    },
    async (request, reply) => {
      const outcome = await retryAction(deps, request.params.id, requesterOf(request))
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
          'Targets that have not started end immediately; running steps are stopped. Returns the current state of the action.',
        params,
        body: emptyBody,
        response: { 202: ref(actionSchema), ...problems },
      },
    },
    async (request, reply) => {
      const { id } = request.params
      const caller = callerOf(request)
      unwrap(await cancelAction({ db: deps.db, enqueueTargets: deps.enqueue.targets }, id, caller))
      reply.code(202)
      return readRun(caller, environmentOf(request), id)
    },
  )

  async function showStarted(request: FastifyRequest, outcome: StartOutcome): Promise<Action> {
    return readRun(callerOf(request), environmentOf(request), unwrap(outcome).actionId)
  }
}

function environmentOf(request: FastifyRequest): number {
  return scopeOf(request).environment_id!
}

function requesterOf(request: FastifyRequest): Requester {
  const { id, name, email } = callerOf(request)
  return { id, name, email, address: request.ip, origin: originOf(request) }
}

/** Reads a run for the user who has just started or cancelled it. */
function createRunReader(deps: RunRoutes) {
  const readAction = createActionReader(deps)
  return async (caller: Caller, environmentId: number, actionId: number): Promise<Action> => {
    const visibility = await visibilityOf(deps.tree, caller)
    const sees = (id: number) => id === environmentId || visibility.sees(id)
    const action = await readAction({ ...visibility, sees }, actionId)
    if (!action) throw new Error(`action ${actionId} does not exist`)
    return visibility.sees(environmentId) ? action : withoutOtherRuns(action)
  }
}

/** For a user who may run but not view: nothing of other runs. */
function withoutOtherRuns(action: Action): Action {
  const { data } = action.resource
  if (!('last_deployments' in data)) return action
  const own = (one: ActionSummary | null) => (one?.id === action.id ? one : null)
  const { last_deployments, credential } = data
  return {
    ...action,
    resource: {
      ...action.resource,
      data: {
        ...data,
        last_deployments: { latest: own(last_deployments.latest), live: own(last_deployments.live) },
        credential: credential && { ...credential, last_action: own(credential.last_action) },
      },
    },
  }
}
