import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, publicly, signedIn, withTokens } from '#access/authorization/enforce.ts'
import { ApiError } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { loginSchema, signInWithPassword } from './login.ts'
import { signOut } from './manage-sessions.ts'
import { readProfile } from './own-account.ts'
import { ownAccountRoutes, personalTokenRoutes } from './own-account-routes.ts'
import { ownPermissionsSchema } from './own-permissions.ts'
import { cookieSessionRoutes, operation, sessionSchema } from './session-routes.ts'
import { type AccountDeps, refreshSession } from './sessions.ts'
import { clientOf, issuedTokens, signedInSchema } from './start-session.ts'
import { userAccountSchema, userRoutes } from './user-routes.ts'
import { userSchema } from './user-schema.ts'

export const accountRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db, lifetimes, baseUrl } = deps
  await app.register(cookieSessionRoutes, deps)
  await app.register(ownAccountRoutes, deps)
  await app.register(userRoutes, deps)
  await app.register(personalTokenRoutes, deps)

  app.post(
    '/users/login',
    operation(publicly, 'logIn', 'Log in', {
      description:
        'For programs: send `access_token` as `Authorization: Bearer`, and use `refresh_token` when it expires. Repeated failures return 429 for a while.',
      body: loginSchema,
      response: { 200: issuedTokens, ...t.errorResponses(400, 401, 403, 422, 429) },
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
      body: t.Exactly({
        refresh_token: t.Text({
          minLength: 1,
          maxLength: 512,
          description: 'The refresh token of the last login or refresh.',
        }),
      }),
      response: { 200: issuedTokens, ...t.errorResponses(400, 401, 422) },
    }),
    async (request) => {
      const outcome = await refreshSession(db, request.body.refresh_token, lifetimes, actorOf(request))
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
    operation(withTokens('any', signedIn), 'logOut', 'Log out', {
      description: 'Revokes the login that the token belongs to; a personal access token revokes itself.',
      response: { 204: t.Null(), ...t.errorResponses(401) },
    }),
    async (request, reply) => {
      await signOut(db, callerOf(request), actorOf(request))
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/users/me',
    operation(withTokens('any', signedIn), 'readMe', 'Get the current user', {
      description: 'Works with every token, whatever its scopes.',
      response: { 200: t.withHeaders(t.ref(userSchema), { ETag: {} }), ...t.errorResponses(401) },
    }),
    async (request, reply) => {
      const { user, version } = await readProfile(db, callerOf(request).id)
      reply.header('etag', `"${version}"`)
      return user
    },
  )
}

export const accountSchemas = [
  userSchema,
  ownPermissionsSchema,
  sessionSchema,
  signedInSchema,
  userAccountSchema,
]
