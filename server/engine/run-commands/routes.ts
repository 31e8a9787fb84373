// The run-commands room: users start, plan, retry and cancel runs. Scheduling decides when a run begins, and the
// runner does its work.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { actorOf } from '#access/audit/actor.ts'
import { type Caller, createCallerFinder } from '#access/authorization/caller.ts'
import { callerOf, permissions, scopeOf, tokenOf, withTokens } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { can } from '#access/authorization/permissions.ts'
import { cancelAction } from '#engine/scheduling/cancel.ts'
import type { OnMoves } from '#engine/scheduling/committed-moves.ts'
import { waitSecondsOf } from '#engine/waits/prefer.ts'
import type { Waits } from '#engine/waits/waits.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { type Action, actionSchema } from '#model/actions/schemas.ts'
import type { ActionSummary } from '#model/actions/summary-schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import { isOutage } from '#platform/database/outages.ts'
import { limitLongCalls } from '#platform/http/long-calls.ts'
import { unwrap } from '#platform/http/problems.ts'
import { originOf } from '#platform/http/requests.ts'
import * as t from '#platform/http/schemas.ts'
import { type PlanChangesDeps, planChanges } from './plan-changes.ts'
import { planPipeline } from './plan-run.ts'
import { retryBody, runBody, runPlanSchema } from './schemas.ts'
import { type Requester, type RunDeps, retryAction, runPipeline } from './start-run.ts'

export type RunRoutes = RunDeps &
  PlanChangesDeps & {
    tree: Tree
    baseUrl: () => string
    waits: Waits
    onMoves?: OnMoves
  }

const operation = operationsOf('Actions')
const params = t.Exactly({ id: t.Id })
const planQuery = t.Exactly({
  include: t.Optional(
    t.Literal('changes', {
      description:
        'What the plan has in addition: `changes`, what a deploy would ship, for callers with the permissions `pipeline:run` and `action:view` there. May fetch from the repository, for at most 4 s.',
    }),
  ),
})
const problems = t.errorResponses(400, 401, 403, 404, 409, 415, 422, 503)

export const runRoutes: FastifyPluginAsyncTypebox<RunRoutes> = async (app, deps) => {
  const readRun = createRunReader(deps)
  const findCaller = createCallerFinder(deps.db)
  const compare = limitLongCalls(app, { perProcess: 4, perUser: 2 })

  app.post(
    '/pipelines/:id/actions',
    operation(permissions('pipeline', 'id', 'pipeline:run'), 'runPipeline', {
      summary: 'Run a pipeline',
      traits: { bodyOptional: true, waits: true },
      description: 'Returns the action as it starts or, with `Prefer: wait`, when it has ended.',
      params,
      body: runBody,
      response: { 201: t.ref(actionSchema), ...problems },
    }),
    async (request, reply) => {
      const outcome = await runPipeline(deps, request.params.id, request.body, requesterOf(request))
      return showStarted(request, reply.code(201), unwrap(outcome).actionId)
    },
  )

  app.post(
    '/pipelines/:id/plan',
    operation(withTokens('run', permissions('pipeline', 'id', 'pipeline:view')), 'planPipeline', {
      summary: 'Preview a run',
      traits: { bodyOptional: true },
      description:
        'Takes the same body as a run and applies the same checks, but starts nothing. Returns the targets, in batches, with their steps.',
      params,
      querystring: planQuery,
      body: runBody,
      response: { 200: t.ref(runPlanSchema), ...problems },
    }),
    async (request, reply) => {
      const { plan, deploy } = unwrap(
        await planPipeline(deps.db, request.params.id, request.body, requesterOf(request)),
      )
      if (!deploy || request.query.include !== 'changes' || !mayCompare(request)) return plan
      return compare({ userId: callerOf(request).id, reply, ifBusy: () => plan }, async (signal) => ({
        ...plan,
        comparisons: await planChanges(deps, deploy, signal),
      }))
    },
  )

  app.post(
    '/actions/:id/retry',
    operation(permissions('action', 'id', 'pipeline:run'), 'retryAction', {
      summary: 'Retry an action',
      traits: { bodyOptional: true, waits: true },
      description:
        'Starts a new action with the same servers, variables and commit, and the current steps of the pipeline. The original action must have ended. Returns the new one as it starts or, with `Prefer: wait`, when it has ended.',
      params,
      body: retryBody,
      response: { 201: t.ref(actionSchema), ...problems },
    }),
    async (request, reply) => {
      const outcome = await retryAction(deps, request.params.id, request.body, requesterOf(request))
      return showStarted(request, reply.code(201), unwrap(outcome).actionId)
    },
  )

  app.post(
    '/actions/:id/cancel',
    operation(permissions('action', 'id', 'pipeline:run'), 'cancelAction', {
      summary: 'Cancel an action',
      traits: { bodyOptional: true },
      description:
        'Targets that have not started end immediately; running steps are stopped. Returns the current state of the action.',
      params,
      body: t.emptyBody,
      response: { 202: t.ref(actionSchema), ...problems },
    }),
    async (request, reply) => {
      const { id } = request.params
      const caller = callerOf(request)
      const { db, onMoves, enqueue } = deps
      unwrap(await cancelAction({ db, onMoves, enqueueTargets: enqueue.targets }, id, caller))
      reply.code(202)
      return readRun(caller, environmentOf(request), id)
    },
  )

  /** At once, or when the run has ended if the caller prefers to wait. */
  async function showStarted(
    request: FastifyRequest,
    reply: FastifyReply,
    actionId: number,
  ): Promise<Action> {
    const started = await readRun(callerOf(request), environmentOf(request), actionId)
    const seconds = waitSecondsOf(request.headers.prefer)
    return seconds === undefined ? started : showEnded(request, reply, started, seconds)
  }

  async function showEnded(
    request: FastifyRequest,
    reply: FastifyReply,
    started: Action,
    seconds: number,
  ): Promise<Action> {
    const [token, scope] = [tokenOf(request), scopeOf(request)]
    // Not held while it waits.
    request.body = undefined
    const findAllowed = async () => {
      const caller = await findCaller(token)
      return caller && can(caller, 'pipeline:run', scope) ? caller : undefined
    }
    const waited = await deps.waits.forEnd(started.id, {
      seconds,
      owner: { userId: callerOf(request).id },
      isAllowed: async () => (await findAllowed()) !== undefined,
      response: reply.raw,
    })
    if (waited === undefined || reply.raw.destroyed) return started
    reply.header('preference-applied', `wait=${seconds}`)
    try {
      // A caller who has lost access meanwhile gets what they were allowed to see.
      const caller = await findAllowed()
      return caller ? await readRun(caller, environmentOf(request), started.id) : started
    } catch (error) {
      // The run was accepted, which 503 would deny.
      if (isOutage(error)) return started
      throw error
    }
  }
}

/** Commits and files of any ref, with the application's credential: only for callers who could run it and then see the same. */
function mayCompare(request: FastifyRequest): boolean {
  return can(callerOf(request), 'pipeline:run', scopeOf(request)) && seesActions(request)
}

function seesActions(request: FastifyRequest): boolean {
  return can(callerOf(request), 'action:view', scopeOf(request))
}

function environmentOf(request: FastifyRequest): number {
  return scopeOf(request).environment_id!
}

function requesterOf(request: FastifyRequest): Requester {
  const caller = callerOf(request)
  const { id, name, email } = caller
  const origin = originOf(request)
  const overrider = { caller, actor: actorOf(request), scope: scopeOf(request) }
  return { id, name, email, address: request.ip, origin, seesActions: seesActions(request), overrider }
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
