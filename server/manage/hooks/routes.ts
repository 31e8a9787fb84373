import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, permissions, scopeOf } from '#access/authorization/enforce.ts'
import { can } from '#access/authorization/permissions.ts'
import { type HookRow, presentHooks } from '#model/hooks/present-hook.ts'
import {
  type Hook,
  hookSchema,
  incomingHookBody,
  incomingHookChange,
  outgoingHookBody,
  outgoingHookChange,
  rotateSecretBody,
} from '#model/hooks/schemas.ts'
import type { HookType } from '#platform/database/tables.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { readIfMatch, sendWithETag } from '#platform/http/if-match.ts'
import { DEFAULT_PER_PAGE, describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref, Uuid, Word } from '#platform/http/schemas.ts'
import { listHooks } from './list-hooks.ts'
import {
  changeHook,
  createHook,
  findHook,
  type HookDeps,
  type HookOutcome,
  MOST_HOOKS_PER_PIPELINE,
  removeHookOf,
  rotateSecret,
} from './manage-hooks.ts'

export type HookRoutes = Omit<HookDeps, 'actor'> & {
  baseUrl: () => string
  /** How many events since then an outgoing hook did not tell. */
  countMissed: (hookId: string, since: string) => Promise<number>
}

const tags = ['Hooks']
const pipelineParams = Exactly({ id: Id })
const hookParams = Exactly({ hook_id: Uuid })
const hookReply = ref(hookSchema)

export const hookRoutes: FastifyPluginAsyncTypebox<HookRoutes> = async (app, deps) => {
  app.post(
    '/pipelines/:id/hooks/incoming',
    {
      config: { access: permissions('pipeline', 'id', 'resource:view', 'hook:add') },
      schema: {
        tags,
        operationId: 'createIncomingHook',
        summary: 'Create an incoming hook',
        description: 'The answer is the only one that shows `secret` as text.',
        params: pipelineParams,
        body: incomingHookBody,
        response: { 201: hookReply, ...errorResponses(400, 401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const wish = { type: 'incoming', body: request.body } as const
      return show(
        request,
        reply.code(201),
        await createHook(as(request), request.params.id, callerOf(request), wish),
      )
    },
  )

  app.post(
    '/pipelines/:id/hooks/outgoing',
    {
      config: { access: permissions('pipeline', 'id', 'resource:view', 'hook:add') },
      schema: {
        tags,
        operationId: 'createOutgoingHook',
        summary: 'Create an outgoing hook',
        description: 'The answer is the only one that shows `secret` as text.',
        params: pipelineParams,
        body: outgoingHookBody,
        response: { 201: hookReply, ...errorResponses(400, 401, 403, 404, 409, 422) },
      },
    },
    async (request, reply) => {
      const wish = { type: 'outgoing', body: request.body } as const
      return show(
        request,
        reply.code(201),
        await createHook(as(request), request.params.id, callerOf(request), wish),
      )
    },
  )

  app.get(
    '/pipelines/:id/hooks',
    {
      config: { access: permissions('pipeline', 'id', 'hook:view') },
      schema: {
        tags,
        operationId: 'listHooks',
        summary: 'List the hooks of a pipeline',
        description: 'Incoming and outgoing, newest first; all of them unless `per_page` is given.',
        params: pipelineParams,
        querystring: Exactly({
          page: pageQuery.page,
          per_page: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
          'filter[type]': Type.Optional(Word(['incoming', 'outgoing'] as const)),
          'filter[active]': Type.Optional(Type.Boolean()),
        }),
        response: { 200: Type.Array(hookReply), ...errorResponses(401, 403, 404, 422) },
      },
    },
    async (request, reply) => {
      const { query } = request
      const paged = query.per_page !== undefined || (query.page ?? 1) > 1
      const page = paged
        ? pageOf({ page: query.page, per_page: query.per_page ?? DEFAULT_PER_PAGE })
        : { limit: MOST_HOOKS_PER_PIPELINE, offset: 0 }
      const filters = { type: query['filter[type]'], active: query['filter[active]'] }
      const { rows, extent } = await listHooks(deps.db, request.params.id, filters, page)
      describePage(request, reply, deps.baseUrl(), page, extent)
      return present(request, rows)
    },
  )

  for (const type of ['incoming', 'outgoing'] as const) {
    const of = `${type} hook` as const
    const word = type === 'incoming' ? 'Incoming' : 'Outgoing'
    const an = `an ${type} hook`

    app.get(
      `/hooks/${type}/:hook_id`,
      {
        config: { access: permissions(of, 'hook_id', 'hook:view') },
        schema: {
          tags,
          operationId: `read${word}Hook`,
          summary: `Read ${an}`,
          params: hookParams,
          response: { 200: hookReply, ...errorResponses(401, 404, 422) },
        },
      },
      async (request, reply) => {
        const row = await findHook(deps.db, type, request.params.hook_id)
        return show(request, reply, row ? { kind: 'done', row } : { kind: 'gone' })
      },
    )

    app.put(
      `/hooks/${type}/:hook_id`,
      {
        config: { access: permissions(of, 'hook_id', 'hook:edit') },
        schema: {
          tags,
          operationId: `change${word}Hook`,
          summary: `Change ${an}`,
          description: `A field that is given replaces what is stored, whole; others stay. Send \`If-Match\` with the \`ETag\` of your last read to be sure that nobody changed it meanwhile.${type === 'outgoing' ? ' When a hook is switched on again, `X-Missed-Deliveries` says how many events it missed; `redeliver` sends them.' : ''}`,
          params: hookParams,
          body: type === 'incoming' ? incomingHookChange : outgoingHookChange,
          response: { 200: hookReply, ...errorResponses(400, 401, 403, 404, 412, 422) },
        },
      },
      async (request, reply) => {
        const wish = { type, body: request.body } as Parameters<typeof changeHook>[3]
        const { hook_id: id } = request.params
        const outcome = await changeHook(as(request), id, callerOf(request), wish, readIfMatch(request))
        if (outcome.kind === 'done' && outcome.wasOffSince) {
          const missed = await deps.countMissed(id, outcome.wasOffSince)
          reply.header('x-missed-deliveries', missed)
          if (missed > 0)
            reply.header('link', `<${deps.baseUrl()}/hooks/outgoing/${id}/redeliver>; rel="redeliver"`)
        }
        return show(request, reply, outcome)
      },
    )

    app.delete(
      `/hooks/${type}/:hook_id`,
      {
        config: { access: permissions(of, 'hook_id', 'hook:remove') },
        schema: {
          tags,
          operationId: `remove${word}Hook`,
          summary: `Remove ${an}`,
          description: 'Its past calls or deliveries stay.',
          params: hookParams,
          response: { 204: Type.Null(), ...errorResponses(401, 403, 404, 412, 422) },
        },
      },
      async (request, reply) => {
        const { hook_id: id } = request.params
        const outcome = await removeHookOf(as(request), type, id, readIfMatch(request))
        if (outcome.kind !== 'removed') throw refuse(outcome)
        return reply.code(204).send(null)
      },
    )

    app.post(
      `/hooks/${type}/:hook_id/rotate-secret`,
      {
        config: { access: permissions(of, 'hook_id', 'hook:edit'), bodyOptional: true },
        schema: {
          tags,
          operationId: `rotate${word}HookSecret`,
          summary: `Make a new secret for ${an}`,
          description:
            'The answer is the only one that shows it. The previous secret stays valid for `overlap_seconds`.',
          params: hookParams,
          body: rotateSecretBody,
          response: { 200: hookReply, ...errorResponses(400, 401, 403, 404, 409, 422) },
        },
      },
      async (request, reply) => {
        const overlap = request.body?.overlap_seconds ?? 86_400
        return show(
          request,
          reply,
          await rotateSecret(as(request), type as HookType, request.params.hook_id, overlap),
        )
      },
    )
  }

  const as = (request: FastifyRequest): HookDeps => ({ ...deps, actor: actorOf(request) })

  async function show(request: FastifyRequest, reply: FastifyReply, outcome: HookOutcome): Promise<Hook> {
    if (outcome.kind !== 'done') throw refuse(outcome)
    sendWithETag(reply, outcome.row.row_version)
    return (await present(request, [outcome.row], outcome.secret))[0]!
  }

  function present(request: FastifyRequest, rows: readonly HookRow[], secret?: string): Promise<Hook[]> {
    const mayEdit = can(callerOf(request), 'hook:edit', scopeOf(request))
    return presentHooks(deps.db, rows, { baseUrl: deps.baseUrl(), box: deps.box, mayEdit, secret })
  }
}

/** The answer to an outcome that the caller did not wish for. */
function refuse(outcome: Exclude<HookOutcome, { kind: 'done' }>): ApiError {
  switch (outcome.kind) {
    case 'invalid':
      return invalid(outcome.errors)
    case 'gone':
      return notFound()
    case 'full':
      return new ApiError(
        'conflict',
        `A pipeline can have ${MOST_HOOKS_PER_PIPELINE} hooks; remove one first.`,
      )
    case 'forbidden':
      return new ApiError(
        'forbidden',
        "The hook sends the token of the application's credential: you need the permission credential:run for it.",
      )
    case 'unsigned':
      return new ApiError('conflict', 'This hook has no secret: set requires_secret to true first.')
    case 'changed-meanwhile':
      return new ApiError('precondition_failed', 'The hook has changed since you read it: read it again.')
  }
}
