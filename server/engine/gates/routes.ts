import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { notFound } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { decideApproval } from './decide-approval.ts'
import { overrideGate } from './override.ts'
import { readGates } from './read-gates.ts'
import type { ReleaseDeps } from './release-loop.ts'
import { actionGatesSchema, decisionBody, overrideBody } from './schemas.ts'

const operation = operationsOf('Gates')
const params = t.Exactly({ id: t.Id })

const DECISIONS = [
  {
    verb: 'approve',
    decision: 'approved',
    description:
      'For what you saw, named by `subject`. Once enough people have approved, the run passes the gate. Returns 403 for people who started it or wrote what it ships, and 409 when it does not wait for approval, or what would ship has changed (`approval_outdated`). Personal access tokens need the scope `approve` by name.',
  },
  {
    verb: 'reject',
    decision: 'rejected',
    description:
      'One rejection ends the run, as `failed` with `FAILED_REJECTED`; of a run that has started, the targets that wait for approval. Otherwise like approving.',
  },
] as const

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

export const gateRoutes: FastifyPluginAsyncTypebox<Omit<ReleaseDeps, 'onError'>> = async (app, deps) => {
  app.get(
    '/actions/:id/gates',
    operation(permissions('action', 'id', 'action:view'), 'readActionGates', {
      summary: 'Read the gates of an action',
      description:
        'What a run passes between its creation and the queue, and what it waits for there. A run at a closed gate is `waiting`, has no slot, and counts toward no limit.',
      params,
      response: { 200: t.ref(actionGatesSchema), ...t.errorResponses(401, 403, 404, 422) },
    }),
    async (request) => {
      const gates = await readGates(deps.db, request.params.id, callerOf(request))
      if (!gates) throw notFound()
      return gates
    },
  )

  app.post(
    '/actions/:id/override',
    operation(permissions('action', 'id', 'environment:edit'), 'overrideGate', {
      summary: 'Let an action through a gate',
      description:
        'Covers what is in force now: a later freeze holds the run again. For a freeze of an organization, `organization:edit` is required as well. Recorded in the audit log with its reason. Returns 409 when nothing holds the run at that gate, or it has started.',
      params,
      body: overrideBody,
      response: {
        200: t.ref(actionGatesSchema),
        ...t.errorResponses(400, 401, 403, 404, 409, 415, 422),
      },
    }),
    async (request) => {
      const { id } = request.params
      const by = { caller: callerOf(request), actor: actorOf(request), scope: scopeOf(request) }
      unwrap(await overrideGate(deps, id, request.body, by))
      return (await readGates(deps.db, id, by.caller))!
    },
  )

  for (const { verb, decision, description } of DECISIONS) {
    app.post(
      `/actions/:id/${verb}`,
      operation(permissions('action', 'id', 'action:approve'), `${verb}Action`, {
        summary: `${capitalized(verb)} an action`,
        description,
        params,
        body: decisionBody,
        response: {
          200: t.ref(actionGatesSchema),
          ...t.errorResponses(400, 401, 403, 404, 409, 415, 422),
        },
      }),
      async (request) => {
        const { id } = request.params
        const by = { caller: callerOf(request), actor: actorOf(request), scope: scopeOf(request) }
        unwrap(await decideApproval(deps, id, { ...request.body, decision }, by))
        return (await readGates(deps.db, id, by.caller))!
      },
    )
  }
}
