import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions } from '#access/enforce.ts'
import { ApiError, invalid, notFound } from '#http/errors.ts'
import { parseJsonBody } from '#http/json-body.ts'
import { Exactly, ref, refusals, Uuid } from '#http/schemas.ts'
import { callAnswerSchema, replyTo, rethrow } from './answer.ts'
import { loadHook } from './compiled-hook.ts'
import { dryRun, dryRunSchema, payloadOf } from './dry-run.ts'
import { originOf } from './receive-call.ts'
import { type ReplayCalls, replayCall } from './replay-call.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Of a dry run: its body as it came. */
    wish: string
  }
}

const tags = ['Hook requests']

/** What a person can do with calls: try one out, and run one again. */
export const callPersonRoutes: FastifyPluginAsyncTypebox<ReplayCalls & { baseUrl: () => string }> = async (
  app,
  { baseUrl, ...deps },
) => {
  await app.register(dryRunRoute, deps)

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
          ...refusals(400, 401, 403, 404, 409, 415, 422, 503),
        },
      },
    },
    async (request, reply) => {
      const { id, name, email } = callerOf(request)
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
        response: { 200: ref(dryRunSchema), ...refusals(400, 401, 403, 404, 422) },
      },
    },
    async (request) => {
      const hook = await loadHook(db, box, { hookId: request.params.hook_id })
      if (!hook) throw notFound()
      return dryRun(hook, payloadOf(request.wish), request.body.headers ?? {})
    },
  )
}
