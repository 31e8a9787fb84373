import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { callerOf, permissions } from '#access/enforce.ts'
import { ApiError, notFound } from '#http/errors.ts'
import { Exactly, ref, refusals, Uuid } from '#http/schemas.ts'
import { callAnswerSchema, replyTo, rethrow } from './answer.ts'
import { loadHook } from './compiled-hook.ts'
import { dryRun, dryRunSchema } from './dry-run.ts'
import { type ReplayCalls, replayCall } from './replay-call.ts'

const tags = ['Hook requests']

/** What a person can do with calls: try one out, and run one again. */
export const callPersonRoutes: FastifyPluginAsyncTypebox<ReplayCalls & { baseUrl: () => string }> = async (
  app,
  { baseUrl, ...deps },
) => {
  app.post(
    '/hooks/incoming/:hook_id/dry-run',
    {
      config: { access: permissions('incoming hook', 'hook_id', 'hook:edit') },
      schema: {
        tags,
        operationId: 'dryRunHook',
        summary: 'See what a call would do, without doing it',
        params: Exactly({ hook_id: Uuid }),
        body: Exactly({
          headers: Type.Optional(
            Type.Record(Type.String({ maxLength: 256 }), Type.String({ maxLength: 8192 })),
          ),
          body: Type.Unknown({ description: 'The payload, as JSON.' }),
        }),
        response: { 200: ref(dryRunSchema), ...refusals(400, 401, 403, 404, 422) },
      },
    },
    async (request) => {
      const hook = await loadHook(deps.db, deps.box, { hookId: request.params.hook_id })
      if (!hook) throw notFound()
      return dryRun(hook, request.body.body, request.body.headers ?? {})
    },
  )

  app.post(
    '/hook-requests/:id/replay',
    {
      config: { access: permissions('hook request', 'id', 'pipeline:run'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'replayHookRequest',
        summary: 'Run a call again',
        description:
          'With the hook as it is today, attributed to you. Badly signed calls cannot be replayed.',
        params: Exactly({ id: Uuid }),
        response: {
          200: { ...ref(callAnswerSchema), description: 'Nothing was started: a ping, or unmet conditions' },
          202: { ...ref(callAnswerSchema), description: 'A run was started' },
          ...refusals(401, 403, 404, 409, 422),
        },
      },
    },
    async (request, reply) => {
      const { id, name, email } = callerOf(request)
      const person = { kind: 'person', id, name, email } as const
      const replayed = await replayCall(deps, request.params.id, person).catch(rethrow)
      switch (replayed.kind) {
        case 'not-found':
          throw notFound()
        case 'not-replayable':
          throw new ApiError('conflict', replayed.reason)
        default:
          return replyTo(reply, replayed, baseUrl())
      }
    },
  )
}
