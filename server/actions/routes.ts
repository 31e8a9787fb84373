import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { callerOf, showing } from '#access/enforce.ts'
import { invalid, notFound } from '#http/errors.ts'
import { describePage, pageOf, pageQuery } from '#http/pagination.ts'
import { Exactly, Id, ref, refusals } from '#http/schemas.ts'
import type { ReadActions } from './assemble.ts'
import { filterQuery, readFilters } from './filters.ts'
import { listActions } from './list-actions.ts'
import { readAction } from './read-action.ts'
import { actionListItemSchema, actionSchema } from './schemas.ts'

const tags = ['Actions']

export type ActionRoutes = Omit<ReadActions, 'baseUrl'> & { baseUrl: () => string }

export const actionRoutes: FastifyPluginAsyncTypebox<ActionRoutes> = async (app, { db, tree, baseUrl }) => {
  app.get(
    '/actions',
    {
      config: { access: showing('action:view') },
      schema: {
        tags,
        operationId: 'listActions',
        summary: 'List actions',
        description: 'The actions of every environment where you have `action:view`, newest first.',
        querystring: Exactly({ ...pageQuery, ...filterQuery }),
        response: { 200: Type.Array(ref(actionListItemSchema)), ...refusals(401, 422) },
      },
    },
    async (request, reply) => {
      const read = readFilters(request.query)
      if (read.kind === 'wrong') throw invalid(read.errors)
      const page = pageOf(request.query as { page?: number; per_page?: number })
      const { items, extent } = await listActions(
        { db, tree, baseUrl: baseUrl() },
        callerOf(request),
        read.filters,
        page,
      )
      describePage(request, reply, baseUrl(), page, extent)
      return items
    },
  )

  app.get(
    '/actions/:action_id',
    {
      config: { access: showing('action:view') },
      schema: {
        tags,
        operationId: 'readAction',
        summary: 'Read an action',
        params: Exactly({ action_id: Id }),
        response: { 200: ref(actionSchema), ...refusals(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const action = await readAction(
        { db, tree, baseUrl: baseUrl() },
        callerOf(request),
        request.params.action_id,
      )
      if (!action) throw notFound()
      reply.header('etag', `W/"${action.id}-${Date.parse(action.updated_at)}"`)
      return action
    },
  )
}
