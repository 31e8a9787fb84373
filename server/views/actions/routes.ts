import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { callerOf, showing } from '#access/authorization/enforce.ts'
import type { ReadActions } from '#model/actions/assemble.ts'
import { filterQuery, filtersOf } from '#model/actions/filters.ts'
import { createActionFinder } from '#model/actions/find-action.ts'
import { readAction } from '#model/actions/read-action.ts'
import { actionListItemSchema, actionSchema } from '#model/actions/schemas.ts'
import { visibilityOf } from '#model/actions/visibility.ts'
import { shareWholeLoads } from '#model/actions/whole-actions.ts'
import { notFound } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref } from '#platform/http/schemas.ts'
import { stringifyStable } from '#platform/http/stable-json.ts'
import { createFingerprintFinder } from './fingerprint.ts'
import { createKeptAnswers } from './kept-answers.ts'
import { listActions } from './list-actions.ts'

const tags = ['Actions']

export type ActionRoutes = Omit<ReadActions, 'baseUrl'> & { baseUrl: () => string }

export const actionRoutes: FastifyPluginAsyncTypebox<ActionRoutes> = async (app, { db, tree, baseUrl }) => {
  const findFingerprint = createFingerprintFinder(db)
  const keptAnswers = createKeptAnswers()
  const shared = {
    findAction: createActionFinder(db),
    loadWhole: shareWholeLoads(db),
    largeLists: new Set<string>(),
  }

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
        response: { 200: Type.Array(ref(actionListItemSchema)), ...errorResponses(401, 422) },
      },
    },
    async (request, reply) => {
      const filters = filtersOf(request.query)
      const page = pageOf(request.query as { page?: number; per_page?: number })
      const { items, extent } = await listActions(
        { db, tree, ...shared, baseUrl: baseUrl() },
        callerOf(request),
        filters,
        page,
      )
      describePage(request, reply, baseUrl(), page, extent)
      return sendText(reply, Buffer.from(stringifyStable(items)))
    },
  )

  app.get(
    '/actions/:action_id',
    {
      config: {
        access: showing('action:view'),
      },
      schema: {
        tags,
        operationId: 'readAction',
        summary: 'Read an action',
        params: Exactly({ action_id: Id }),
        response: { 200: ref(actionSchema), ...errorResponses(401, 404, 422) },
      },
    },
    async (request, reply) => {
      const id = request.params.action_id
      const caller = callerOf(request)
      const sight = await visibilityOf(tree, caller)
      const unchanged = keptAnswers.getUnchanged(id, sight.signature, caller.database_state)
      if (unchanged) return sendText(reply.header('etag', unchanged.etag), unchanged.body)
      const found = await findFingerprint(id)
      if (!found || !sight.sees(found.environment_id)) throw notFound()
      const proof = { sight: sight.signature, fingerprint: found.fingerprint, state: found.state }
      const kept = keptAnswers.get(id, proof)
      if (kept) return sendText(reply.header('etag', kept.etag), kept.body)
      const action = await readAction({ db, tree, ...shared, baseUrl: baseUrl() }, sight, id)
      if (!action) throw notFound()
      const etag = `W/"${action.id}-${Date.parse(action.updated_at)}"`
      const body = Buffer.from(stringifyStable(action))
      keptAnswers.set(id, proof, { body, etag })
      return sendText(reply.header('etag', etag), body)
    },
  )
}

/** JSON that is written already; its shape is that of the route's schema all the same. */
function sendText(reply: FastifyReply, body: Buffer): never {
  return reply.type('application/json; charset=utf-8').send(body) as never
}
