import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, signedIn, withTokens } from '#access/authorization/enforce.ts'
import { notFound } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { issuedPersonalToken, personalToken, personalTokenInput } from './personal-token-schema.ts'
import { createPersonalToken, listPersonalTokens, revokePersonalToken } from './personal-tokens.ts'
import { operation } from './session-routes.ts'
import type { AccountDeps } from './sessions.ts'

/** A token with limits must not create one without. */
const access = withTokens('unlimited', signedIn)

export const personalTokenRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, { db, baseUrl }) => {
  app.get(
    '/users/personal-access-tokens',
    operation(access, 'listPersonalAccessTokens', 'List personal access tokens', {
      description: 'Your own, without the tokens themselves.',
      querystring: t.Exactly(pageQuery),
      response: {
        200: t.List(t.Exactly(personalToken, { title: 'PersonalAccessToken' })),
        ...t.errorResponses(401, 422),
      },
    }),
    async (request, reply) => {
      const page = pageOf(request.query)
      const { rows, extent } = await listPersonalTokens(db, callerOf(request).id, page)
      describePage(request, reply, baseUrl(), page, extent)
      return rows
    },
  )

  app.post(
    '/users/personal-access-tokens',
    operation(access, 'createPersonalAccessToken', 'Create a personal access token', {
      description:
        '`token` is returned only in this response. It starts with `gty_pat_` and ends with a checksum of its random part, by which scanners recognize it.',
      body: personalTokenInput,
      response: {
        201: t.Exactly(issuedPersonalToken, { title: 'PersonalAccessTokenWithToken' }),
        ...t.errorResponses(400, 401, 422),
      },
    }),
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => createPersonalToken(trx, callerOf(request), actorOf(request), request.body))
      return reply.code(201).send(unwrap(outcome).row)
    },
  )

  app.delete(
    '/users/personal-access-tokens/:id',
    operation(access, 'revokePersonalAccessToken', 'Revoke a personal access token', {
      description: 'Requests with it are rejected from now on.',
      params: t.Exactly({ id: t.Id }),
      response: { 204: t.Null(), ...t.errorResponses(401, 404, 422) },
    }),
    async (request, reply) => {
      const { id } = callerOf(request)
      const isRevoked = await db
        .transaction()
        .execute((trx) => revokePersonalToken(trx, id, actorOf(request), request.params.id))
      if (!isRevoked) throw notFound()
      return reply.code(204).send(null)
    },
  )
}
