import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import type { SecretBox } from '#platform/crypto/secret-box.ts'
import type { Database } from '#platform/database/connect.ts'
import { type HttpProblem, unwrap } from '#platform/http/problems.ts'
import { originOf } from '#platform/http/requests.ts'
import * as t from '#platform/http/schemas.ts'
import { loadHook } from './compiled-hook.ts'
import { evaluatePayload, recordOf } from './evaluate-call.ts'
import type { StartedBy } from './insert-calls.ts'
import { type ReceiveDeps, type Received, retryWhileStale, storeCall } from './receive-call.ts'
import { type RecordedCall, readRecordedCall } from './recorded-call.ts'
import { answerBody, callAnswerSchema, respond } from './respond.ts'

const operation = operationsOf('Hook requests')

type ReplayDeps = Pick<ReceiveDeps, 'groupCommit'> & { db: Database; box: SecretBox }

/**
 * Runs a recorded call again on behalf of a user, with the hook as it is now. It is not a duplicate of the first: the
 * user wants another run.
 */
function replayCall(
  deps: ReplayDeps,
  requestId: string,
  first: RecordedCall,
  address: string,
  startedBy: StartedBy,
): Promise<Received> {
  const call = { headers: first.headers, body: first.body, address }

  return retryWhileStale(async () => {
    const startedAt = performance.now()
    const { version } = await deps.db.selectFrom('tree_version').select('version').executeTakeFirstOrThrow()
    const hook = await loadHook(deps.db, deps.box, { hookId: first.hookId })
    if (!hook) return { kind: 'cannot-run', reason: 'The hook of this call has been removed.', requestId }
    const verdict = evaluatePayload(hook, call)
    const record = {
      ...recordOf(hook, call, { verdict, body: call.body }, first.url, startedAt),
      retry_of: requestId,
    }
    return storeCall(deps, { hook, version }, verdict, record, startedBy)
  })
}

export type ReplayRoute = ReplayDeps & {
  baseUrl: () => string
  /** Deliveries belong to another room; here they share a URL with calls. */
  replayDelivery: (
    hookRequestId: string,
    userId: number,
  ) => Promise<{ kind: 'replayed'; actionId: number } | HttpProblem>
}

export const replayRoute: FastifyPluginAsyncTypebox<ReplayRoute> = async (
  app,
  { baseUrl, replayDelivery, ...deps },
) => {
  app.post(
    '/hook-requests/:id/replay',
    operation(permissions('hook request', 'id', 'replay'), 'replayHookRequest', {
      summary: 'Replay a call or a delivery',
      traits: { bodyOptional: true },
      description:
        'A call starts a run with the current hook, attributed to you (`pipeline:run`); calls with a wrong signature cannot be replayed. A delivery is sent again immediately, with the same `webhook-id` (`hook:edit`).',
      params: t.Exactly({ id: t.Uuid }),
      response: {
        200: { ...t.ref(callAnswerSchema), description: 'Nothing was started: ping, or unmet conditions' },
        202: { ...t.ref(callAnswerSchema), description: 'Run started, or delivery queued' },
        ...t.errorResponses(400, 401, 403, 404, 409, 415, 422, 503),
      },
    }),
    async (request, reply) => {
      const { id, name, email } = callerOf(request)
      const requestId = request.params.id
      if (scopeOf(request).hook_type === 'outgoing') {
        const { actionId } = unwrap(await replayDelivery(requestId, id))
        return reply.code(202).send(answerBody('The delivery is being sent again.', baseUrl(), { actionId }))
      }
      const startedBy = { key: null, origin: originOf(request), user: { id, name, email } }
      const first = unwrap(await readRecordedCall(deps.db, requestId))
      return respond(reply, await replayCall(deps, requestId, first, request.ip, startedBy), baseUrl())
    },
  )
}
