// The actions views: lists and single reads of actions, fast however many are stored.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { callerOf, permissions, showing } from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { actionChangesSchema } from '#model/actions/changes-schemas.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import { createActionReader } from '#model/actions/read-action.ts'
import { actionListItemSchema, actionSchema } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import type { Tree } from '#model/inventory/tree.ts'
import type { Database } from '#platform/database/connect.ts'
import { notFound } from '#platform/http/errors.ts'
import { pageQuery, readRequestedPage } from '#platform/http/pagination.ts'
import * as t from '#platform/http/schemas.ts'
import { createLargeLists } from './find-page.ts'
import { listActions } from './list-actions.ts'
import { readChanges } from './read-changes.ts'

const operation = operationsOf('Actions')

const includeQuery = t.optionalFields({
  include: t.Literal('pipeline_id', {
    description: 'What each action has in addition: `pipeline_id`, the pipeline that it runs.',
  }),
})

export type ActionRoutes = { db: Database; tree: Tree; baseUrl: () => string }

export const actionRoutes: FastifyPluginAsyncTypebox<ActionRoutes> = async (app, { db, tree, baseUrl }) => {
  const readAction = createActionReader({ db, baseUrl })
  const largeLists = createLargeLists()

  app.get(
    '/actions',
    operation(showing('action:view'), 'listActions', {
      summary: 'List actions',
      traits: { compress: true },
      description: 'The actions of every environment where you have `action:view`, newest first.',
      querystring: t.Exactly({ ...pageQuery, ...filterQuery, ...includeQuery }),
      response: { 200: t.List(t.ref(actionListItemSchema)), ...t.errorResponses(401, 422) },
    }),
    async (request, reply) => {
      const filters = filtersOf(request.query)
      const deps = { db, tree, largeLists, baseUrl: baseUrl() }
      const hasPipelineId = (request.query as { include?: string }).include !== undefined
      const items = await readRequestedPage(request, reply, baseUrl(), (page) =>
        listActions(deps, callerOf(request), { filters, page, hasPipelineId }),
      )
      return sendJson(reply, items)
    },
  )

  app.get(
    '/actions/:action_id',
    operation(showing('action:view'), 'readAction', {
      summary: 'Read an action',
      traits: { compress: true },
      description: 'With its resource, its parent and children, and the calls and deliveries about it.',
      params: t.Exactly({ action_id: t.Id }),
      response: { 200: t.withHeaders(t.ref(actionSchema), { ETag: {} }), ...t.errorResponses(401, 404, 422) },
    }),
    async (request, reply) => {
      const action = await readAction(await visibilityOf(tree, callerOf(request)), request.params.action_id)
      if (!action) throw notFound()
      reply.header('etag', `W/"${action.id}-${Date.parse(action.updated_at)}"`)
      return sendJson(reply, action)
    },
  )

  app.get(
    '/actions/:action_id/changes',
    operation(permissions('action', 'action_id', 'action:view'), 'readActionChanges', {
      summary: 'Read what an action ships',
      description:
        'Commits and files between what was live on each server and what the action brings there, in both directions. They are compared when the source is fetched, and kept with the action.',
      params: t.Exactly({ action_id: t.Id }),
      response: { 200: t.ref(actionChangesSchema), ...t.errorResponses(401, 404, 422) },
    }),
    async (request, reply) => {
      const changes = await readChanges(db, request.params.action_id)
      if (!changes) throw notFound()
      return sendJson(reply, changes)
    },
  )
}

/** Node writes a large string to a socket far slower than the same bytes in a buffer. */
function sendJson(reply: FastifyReply, value: object): never {
  return reply.type('application/json; charset=utf-8').send(Buffer.from(JSON.stringify(value))) as never
}
