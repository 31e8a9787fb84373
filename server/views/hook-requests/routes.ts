import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { seesHookSecrets } from '#access/authorization/token-limits.ts'
import { notFound } from '#platform/http/errors.ts'
import { pageQuery, readRequestedPage } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { catchUpSchema, listCatchUps, listMissedCalls, missedCallSchema } from './catch-ups.ts'
import { readDeliveryHours } from './delivery-hours.ts'
import { type HookTestRoute, hookTestRoute } from './hook-test-route.ts'
import { listHookRequests, type RequestsOf, readHookRequest } from './read-hook-requests.ts'
import { deliveryHourSchema, hookRequestDetailSchema, hookRequestRecordSchema } from './schemas.ts'

export type HookRequestRoutes = HookTestRoute & { baseUrl: () => string }

const operation = operationsOf('Hook requests')

export const hookRequestRoutes: FastifyPluginAsyncTypebox<HookRequestRoutes> = async (app, deps) => {
  const { db, baseUrl, secretsOf } = deps
  for (const type of ['incoming', 'outgoing'] as const) {
    app.get(
      `/hooks/${type}/:hook_id/requests`,
      operation(
        permissions(`${type} hook`, 'hook_id', 'hook:view'),
        type === 'incoming' ? 'listCalls' : 'listDeliveries',
        {
          summary: type === 'incoming' ? 'List the calls to a hook' : 'List the deliveries of a hook',
          description: 'Newest first, without headers and bodies.',
          params: t.Exactly({ hook_id: t.Uuid }),
          querystring: t.Exactly(pageQuery),
          response: { 200: t.List(t.ref(hookRequestRecordSchema)), ...t.errorResponses(401, 404, 422) },
        },
      ),
      (request, reply) => sendPage(request, reply, { hook_id: request.params.hook_id }),
    )
  }

  app.get(
    '/hooks/outgoing/:hook_id/hours',
    operation(permissions('outgoing hook', 'hook_id', 'hook:view'), 'listDeliveryHours', {
      summary: 'Count the deliveries of a hook by hour',
      description:
        'The last 24 hours of UTC, the current one last, by the first attempt of each delivery. Superseded deliveries are not counted. Of a hook with more than 20,000 attempts, only the newest hours.',
      params: t.Exactly({ hook_id: t.Uuid }),
      response: { 200: t.List(t.ref(deliveryHourSchema)), ...t.errorResponses(401, 404, 422) },
    }),
    (request) => readDeliveryHours(db, request.params.hook_id, Date.now()),
  )

  app.get(
    '/hooks/incoming/:hook_id/catch-ups',
    operation(permissions('incoming hook', 'hook_id', 'hook:view'), 'listCatchUps', {
      summary: 'List what a connected hook caught up with',
      description:
        'One for each time that Gantry found calls missing: those that the host could not deliver, and pushes that it never called for. Newest first, of the last 30 days.',
      params: t.Exactly({ hook_id: t.Uuid }),
      querystring: t.Exactly(pageQuery),
      response: { 200: t.List(t.ref(catchUpSchema)), ...t.errorResponses(401, 404, 422) },
    }),
    (request, reply) =>
      readRequestedPage(request, reply, baseUrl(), (page) => listCatchUps(db, request.params.hook_id, page)),
  )

  app.get(
    '/hooks/incoming/:hook_id/missed-calls',
    operation(permissions('incoming hook', 'hook_id', 'hook:view'), 'listMissedCalls', {
      summary: 'List the calls that a connected hook missed',
      description: 'The calls of its catch-ups, newest first.',
      params: t.Exactly({ hook_id: t.Uuid }),
      querystring: t.Exactly({
        ...pageQuery,
        ...t.optionalFields({ 'filter[catch_up_id]': t.idOf('catch-up: only its calls') }),
      }),
      response: { 200: t.List(t.ref(missedCallSchema)), ...t.errorResponses(401, 404, 422) },
    }),
    (request, reply) =>
      readRequestedPage(request, reply, baseUrl(), (page) =>
        listMissedCalls(db, request.params.hook_id, request.query['filter[catch_up_id]'], page),
      ),
  )

  app.get(
    '/actions/:id/hook-requests',
    operation(permissions('action', 'id', 'action:view', 'hook:view'), 'listHookRequestsOfAction', {
      summary: 'List the calls and deliveries about an action',
      description: 'The call that started it, and the deliveries that report it; newest first.',
      params: t.Exactly({ id: t.Id }),
      querystring: t.Exactly(pageQuery),
      response: { 200: t.List(t.ref(hookRequestRecordSchema)), ...t.errorResponses(401, 403, 404, 422) },
    }),
    (request, reply) => sendPage(request, reply, { action_id: request.params.id }),
  )

  app.get(
    '/hook-requests/:id',
    operation(permissions('hook request', 'id', 'hook:view'), 'readHookRequest', {
      summary: 'Read a call or a delivery',
      description:
        'Headers, bodies and full URLs are shown only to callers with `hook:edit`; secrets are masked.',
      params: t.Exactly({ id: t.Uuid }),
      response: { 200: t.ref(hookRequestDetailSchema), ...t.errorResponses(401, 404, 422) },
    }),
    async (request) => {
      const found = await readHookRequest(db, request.params.id, { withBodies: mayEdit(request), secretsOf })
      if (!found) throw notFound()
      return found
    },
  )

  await app.register(hookTestRoute, deps)

  function sendPage(request: FastifyRequest, reply: FastifyReply, of: RequestsOf) {
    return readRequestedPage(request, reply, baseUrl(), (page) =>
      listHookRequests(db, of, page, { withUrls: mayEdit(request) }),
    )
  }
}

function mayEdit(request: FastifyRequest): boolean {
  return seesHookSecrets(callerOf(request), scopeOf(request))
}
