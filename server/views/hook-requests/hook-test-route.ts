import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { sendTest, type TestDeps } from '#engine/delivery-commands/send-test.ts'
import { tooManyRequests } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { createRateLimiter } from '#platform/rate-limit.ts'
import { readHookRequest, type SecretsOf } from './read-hook-requests.ts'
import { hookTestSchema } from './schemas.ts'

const operation = operationsOf('Hooks')

/** Enough for a person who tries out a hook, too little to put a load on the receiver. */
const HOOK_LIMIT = { perSecond: 0.2, burst: 10 }
const USER_LIMIT = { perSecond: 0.5, burst: 30 }

const testBody = t.Exactly({
  action_id: t.Optional(
    t.described(
      t.Id,
      'The action to report; default: the newest one that matches the hook or, if there is none, a sample.',
    ),
  ),
})

export type HookTestRoute = Omit<TestDeps, 'signal'> & { secretsOf: SecretsOf }

export const hookTestRoute: FastifyPluginAsyncTypebox<HookTestRoute> = async (
  app,
  { secretsOf, ...deps },
) => {
  const limiter = createRateLimiter()
  const stopping = new AbortController()
  app.addHook('preClose', async () => stopping.abort())

  app.post(
    '/hooks/outgoing/:hook_id/test',
    operation(permissions('outgoing hook', 'hook_id', 'hook:edit'), 'testHook', {
      summary: 'Send one request of an outgoing hook now',
      traits: { bodyOptional: true },
      description:
        'Sends what the saved hook sends, with the event kind `test`, also when the hook is disabled or its conditions are not met, and responds with the record. It is not retried and counts neither toward disabling the hook nor as a delivery of the action. A receiver that fails is not an error of this call: see `outcome`.',
      params: t.Exactly({ hook_id: t.Uuid }),
      body: testBody,
      response: { 200: t.ref(hookTestSchema), ...t.errorResponses(400, 401, 403, 404, 422, 429, 503) },
    }),
    async (request): Promise<t.Static<typeof hookTestSchema>> => {
      const { hook_id: id } = request.params
      takeTurn(`user ${callerOf(request).id}`, USER_LIMIT)
      takeTurn(`hook ${id}`, HOOK_LIMIT)
      const testing = { ...deps, signal: stopping.signal }
      const sent = unwrap(await sendTest(testing, id, request.body.action_id, actorOf(request)))
      const record = await readHookRequest(deps.db, sent.requestId, { withBodies: true, secretsOf })
      return { ...record!, sample_action: sent.isSample }
    },
  )

  function takeTurn(key: string, limit: typeof HOOK_LIMIT): void {
    const seconds = limiter.take(key, limit, Date.now())
    if (seconds > 0) throw tooManyRequests('Too many tests. Try again later.', seconds)
  }
}
