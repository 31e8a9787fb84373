import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { permalink } from '#model/actions/present.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { parseJsonBody } from '#platform/http/json-body.ts'
import { originOf } from '#platform/http/requests.ts'
import { Exactly, errorResponses, ref, Uuid } from '#platform/http/schemas.ts'
import { callAnswerSchema, replyTo, rethrow } from './answer.ts'
import { loadHook } from './compiled-hook.ts'
import { dryRun, dryRunSchema, payloadOf } from './dry-run.ts'
import { type ReplayCalls, replayCall } from './replay-call.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a dry run: its body as it came. */
    wish: string
  }
}

const tags = ['Hook requests']

export type CallPersonRoutes = ReplayCalls & {
  baseUrl: () => string
  /** Deliveries are the business of another room; here they share an address with calls. */
  replayDelivery: (
    hookRequestId: string,
    userId: number,
  ) => Promise<
    | { kind: 'sent-again'; actionId: number }
    | { kind: 'under-way' }
    | { kind: 'switched-off' }
    | { kind: 'gone' }
  >
}

/** What a person can do with calls: try one out, and run one again. */
export const callPersonRoutes: FastifyPluginAsyncTypebox<CallPersonRoutes> = async (
  app,
  { baseUrl, replayDelivery, ...deps },
) => {
  await app.register(dryRunRoute, deps)

  app.post(
    '/hook-requests/:id/replay',
    {
      config: { access: permissions('hook request', 'id', 'replay'), bodyOptional: true },
      schema: {
        tags,
        operationId: 'replayHookRequest',
        summary: 'Run a call again, or send a delivery again',
        description:
          'A call starts a run with the hook as it is today, attributed to you (`pipeline:run`); badly signed calls cannot be replayed. A delivery is sent again at once, with the same `webhook-id` (`hook:edit`).',
        params: Exactly({ id: Uuid }),
        response: {
          200: { ...ref(callAnswerSchema), description: 'Nothing was started: a ping, or unmet conditions' },
          202: { ...ref(callAnswerSchema), description: 'A run was started, or the delivery is on its way' },
          ...errorResponses(400, 401, 403, 404, 409, 415, 422, 503),
        },
      },
    },
    async (request, reply) => {
      const { id, name, email } = callerOf(request)
      if (scopeOf(request).hook_type === 'outgoing')
        return reply.code(202).send(await sendAgain(request.params.id, id))
      const person = { kind: 'person', id, name, email } as const
      const asker = { person, address: request.ip, origin: originOf(request) }
      const replayed = await replayCall(deps, request.params.id, asker).catch(rethrow)
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

  async function sendAgain(hookRequestId: string, userId: number) {
    const outcome = await replayDelivery(hookRequestId, userId)
    switch (outcome.kind) {
      case 'sent-again':
        return {
          message: 'It is being sent again.',
          action_id: outcome.actionId,
          hook_request_id: null,
          url_web_permalink: permalink(baseUrl(), outcome.actionId),
          errors: null,
        }
      case 'under-way':
        throw new ApiError('conflict', 'This delivery is being sent at this moment.')
      case 'switched-off':
        throw new ApiError('conflict', 'This hook is switched off: change it to active first.')
      case 'gone':
        throw notFound()
    }
  }
}

const dryRunRoute: FastifyPluginAsyncTypebox<Pick<ReplayCalls, 'db' | 'box'>> = async (app, { db, box }) => {
  app.decorateRequest('wish', '')
  // As everywhere, but the text is kept: what is parsed of it has large numbers rounded.
  app.addContentTypeParser(
    /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i,
    { parseAs: 'buffer' },
    async (request: FastifyRequest, bytes: Buffer) => {
      const parsed = parseJsonBody(bytes)
      if (parsed.kind === 'malformed') throw new ApiError('malformed', parsed.message)
      if (parsed.kind === 'unstorable') throw invalid({ [parsed.field]: [parsed.message] })
      request.wish = bytes.toString()
      return parsed.value
    },
  )

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
        response: { 200: ref(dryRunSchema), ...errorResponses(400, 401, 403, 404, 422) },
      },
    },
    async (request) => {
      const hook = await loadHook(db, box, { hookId: request.params.hook_id })
      if (!hook) throw notFound()
      return dryRun(hook, payloadOf(request.wish), request.body.headers ?? {})
    },
  )
}
