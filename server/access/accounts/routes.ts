import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, publicly, signedIn } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref, Timestamp, TimestampOrNull } from '#platform/http/schemas.ts'
import { loginSchema } from './login.ts'
import { signOut } from './manage-sessions.ts'
import { ownAccountRoutes } from './own-account-routes.ts'
import { createPersonalToken, listPersonalTokens, revokePersonalToken } from './personal-tokens.ts'
import { cookieSessionRoutes, operation } from './session-routes.ts'
import { refreshSession, type TokenLifetimes } from './sessions.ts'
import { signInWithPassword } from './sign-in.ts'
import { issuedTokens } from './signed-in.ts'
import { clientOf } from './start-session.ts'
import { userRoutes } from './user-routes.ts'
import { loadUser, userSchema } from './user-schema.ts'

type AccountRoutes = { db: Database; lifetimes: TokenLifetimes; baseUrl: () => string }

/** ISO 8601 has four digits for the year. */
const YEAR_10000 = Date.UTC(10_000, 0)

const personalToken = {
  id: Id,
  name: Type.String(),
  expires_at: TimestampOrNull,
  last_used_at: TimestampOrNull,
  created_at: Timestamp,
}

export const accountRoutes: FastifyPluginAsyncTypebox<AccountRoutes> = async (
  app,
  { db, lifetimes, baseUrl },
) => {
  await app.register(cookieSessionRoutes, { db, lifetimes, baseUrl })
  await app.register(ownAccountRoutes, { db, baseUrl })
  await app.register(userRoutes, { db, lifetimes, baseUrl })

  app.post(
    '/users/login',
    operation(publicly, 'logIn', 'Log in', {
      body: loginSchema,
      response: { 200: issuedTokens, ...errorResponses(400, 401, 422, 429) },
    }),
    async (request) => {
      const client = { ...clientOf(request, baseUrl()), kind: 'api' as const }
      return (await signInWithPassword(db, request.body, client, lifetimes)).tokens
    },
  )

  app.post(
    '/users/refresh-token',
    operation(publicly, 'refreshToken', 'Refresh an access token', {
      description:
        'Exchanges a refresh token for new tokens. Each refresh token works once; using it again revokes the whole login.',
      body: Exactly({ refresh_token: Type.String({ minLength: 1, maxLength: 512 }) }),
      response: { 200: issuedTokens, ...errorResponses(400, 401, 422) },
    }),
    async (request) => {
      const outcome = await refreshSession(db, request.body.refresh_token, lifetimes)
      switch (outcome.kind) {
        case 'refreshed':
          return outcome.tokens
        case 'reused':
          request.log.warn('refresh token reused; login revoked')
          throw new ApiError('unauthenticated', 'This refresh token was already used; log in again.')
        case 'unknown':
          throw new ApiError('unauthenticated', 'This refresh token is not valid; log in again.')
      }
    },
  )

  app.post(
    '/users/logout',
    operation(signedIn, 'logOut', 'Log out', {
      description: 'Revokes the login that the token belongs to.',
      response: { 204: Type.Null(), ...errorResponses(401) },
    }),
    async (request, reply) => {
      await signOut(db, callerOf(request), actorOf(request))
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/users/me',
    operation(signedIn, 'readMe', 'Get the current user', {
      response: { 200: ref(userSchema), ...errorResponses(401) },
    }),
    async (request) => loadUser(db, callerOf(request).id),
  )

  app.get(
    '/users/personal-access-tokens',
    operation(signedIn, 'listPersonalAccessTokens', 'List personal access tokens', {
      querystring: Exactly(pageQuery),
      response: { 200: Type.Array(Exactly(personalToken)), ...errorResponses(401, 422) },
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
    operation(signedIn, 'createPersonalAccessToken', 'Create a personal access token', {
      description: '`token` is returned only in this response.',
      body: Exactly({
        name: Type.String({ minLength: 1, maxLength: 60 }),
        expires_at: Type.Optional(TimestampOrNull),
      }),
      response: {
        201: Exactly({ ...personalToken, token: Type.String() }),
        ...errorResponses(400, 401, 422),
      },
    }),
    async (request, reply) => {
      const { name, expires_at } = request.body
      const expiresAt = expires_at == null ? null : new Date(expires_at)
      if (expiresAt && !(expiresAt.getTime() > Date.now() && expiresAt.getTime() < YEAR_10000)) {
        throw invalid({ expires_at: ['must be a time in the future, before the year 10000'] })
      }
      return reply.code(201).send(await createPersonalToken(db, callerOf(request).id, { name, expiresAt }))
    },
  )

  app.delete(
    '/users/personal-access-tokens/:id',
    operation(signedIn, 'revokePersonalAccessToken', 'Revoke a personal access token', {
      params: Exactly({ id: Id }),
      response: { 204: Type.Null(), ...errorResponses(401, 404, 422) },
    }),
    async (request, reply) => {
      if (!(await revokePersonalToken(db, callerOf(request).id, request.params.id))) throw notFound()
      return reply.code(204).send(null)
    },
  )
}
