import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import type { Database } from '#platform/database/connect.ts'
import { notFound } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref, Uuid } from '#platform/http/schemas.ts'
import { listHookRequests, readHookRequest, type SecretsOf } from './read-hook-requests.ts'
import { hookRequestDetailSchema, hookRequestRecordSchema } from './schemas.ts'

export type HookRequestRoutes = { db: Database; baseUrl: () => string; secretsOf: SecretsOf }

const tags = ['Hook requests']

export const hookRequestRoutes: FastifyPluginAsyncTypebox<HookRequestRoutes> = async (
  app,
  { db, baseUrl, secretsOf },
) => {
  for (const type of ['incoming', 'outgoing'] as const) {
    app.get(
      `/hooks/${type}/:hook_id/requests`,
      {
        config: { access: permissions(`${type} hook`, 'hook_id', 'hook:view') },
        schema: {
          tags,
          operationId: type === 'incoming' ? 'listCalls' : 'listDeliveries',
          summary: type === 'incoming' ? 'List the calls to a hook' : 'List the deliveries of a hook',
          description: 'Newest first, without headers and bodies.',
          params: Exactly({ hook_id: Uuid }),
          querystring: Exactly(pageQuery),
          response: { 200: Type.Array(ref(hookRequestRecordSchema)), ...errorResponses(401, 404, 422) },
        },
      },
      (request, reply) => sendPage(request, reply, { hook_id: request.params.hook_id }),
    )
  }

  app.get(
    '/actions/:id/hook-requests',
    {
      config: { access: permissions('action', 'id', 'action:view', 'hook:view') },
      schema: {
        tags,
        operationId: 'listHookRequestsOfAction',
        summary: 'List the calls and deliveries about an action',
        description: 'The call that started it, and the deliveries that report it; newest first.',
        params: Exactly({ id: Id }),
        querystring: Exactly(pageQuery),
        response: { 200: Type.Array(ref(hookRequestRecordSchema)), ...errorResponses(401, 403, 404, 422) },
      },
    },
    (request, reply) => sendPage(request, reply, { action_id: request.params.id }),
  )

  app.get(
    '/hook-requests/:id',
    {
      config: { access: permissions('hook request', 'id', 'hook:view') },
      schema: {
        tags,
        operationId: 'readHookRequest',
        summary: 'Read a call or a delivery',
        description:
          'Headers, bodies and full URLs are shown only to callers with `hook:edit`; secrets are masked.',
        params: Exactly({ id: Uuid }),
        response: { 200: ref(hookRequestDetailSchema), ...errorResponses(401, 404, 422) },
      },
    },
    async (request) => {
      const found = await readHookRequest(db, request.params.id, { withBodies: mayEdit(request), secretsOf })
      if (!found) throw notFound()
      return found
    },
  )

  async function sendPage(
    request: FastifyRequest,
    reply: FastifyReply,
    of: { hook_id: string } | { action_id: number },
  ) {
    const page = pageOf(request.query as { page?: number; per_page?: number })
    const { rows, extent } = await listHookRequests(db, of, page, { withUrls: mayEdit(request) })
    describePage(request, reply, baseUrl(), page, extent)
    return rows
  }
}

function mayEdit(request: FastifyRequest): boolean {
  return seesHookSecrets(callerOf(request), scopeOf(request))
}
