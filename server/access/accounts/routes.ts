import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { callerOf, publicly, signedIn } from '#access/authorization/enforce.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError, invalid, notFound } from '#platform/http/errors.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { Exactly, errorResponses, Id, ref, Timestamp, TimestampOrNull } from '#platform/http/schemas.ts'
import { logIn } from './login.ts'
import { credentials, refusedLogin } from './login-words.ts'
import { createPersonalToken, listPersonalTokens, revokePersonalToken } from './personal-tokens.ts'
import { cookieSessionRoutes } from './session-routes.ts'
import { closeSession, openSession, refreshSession, type TokenLives } from './sessions.ts'
import { toUser, userColumns, userSchema } from './user-schema.ts'

export type AccountRoutes = { db: Database; lives: TokenLives; baseUrl: () => string }

const tags = ['Accounts']

/** Later years have five digits, and ISO 8601 four. */
const END_OF_TIME = Date.UTC(10_000, 0)

export const issuedTokens = Exactly({
  access_token: Type.String(),
  token_type: Type.Literal('bearer'),
  expires_in: Type.Integer({ description: 'Seconds until the access token expires.' }),
  refresh_token: Type.String({ description: 'Works once; see POST /users/refresh-token.' }),
})

const personalToken = {
  id: Id,
  name: Type.String(),
  expires_at: TimestampOrNull,
  last_used_at: TimestampOrNull,
  created_at: Timestamp,
}

export const accountRoutes: FastifyPluginAsyncTypebox<AccountRoutes> = async (
  app,
  { db, lives, baseUrl },
) => {
  await app.register(cookieSessionRoutes, { db, lives, baseUrl })

  app.post(
    '/users/login',
    {
      config: { access: publicly },
      schema: {
        tags,
        operationId: 'logIn',
        summary: 'Log in',
        security: [],
        body: credentials,
        response: { 200: issuedTokens, ...errorResponses(400, 401, 422, 429) },
      },
    },
    async (request) => {
      const attempt = { ...request.body, address: request.ip }
      const outcome = await logIn(db, attempt, (trx, userId) => openSession(trx, userId, lives))
      if (outcome.kind !== 'in') throw refusedLogin(outcome)
      return outcome.session
    },
  )

  app.post(
    '/users/refresh-token',
    {
      config: { access: publicly },
      schema: {
        tags,
        operationId: 'refreshToken',
        summary: 'Trade a refresh token for new tokens',
        description:
          'Each refresh token works once. Using one a second time ends the whole login it came from.',
        security: [],
        body: Exactly({ refresh_token: Type.String({ minLength: 1, maxLength: 512 }) }),
        response: { 200: issuedTokens, ...errorResponses(400, 401, 422) },
      },
    },
    async (request) => {
      const outcome = await refreshSession(db, request.body.refresh_token, lives)
      switch (outcome.kind) {
        case 'refreshed':
          return outcome.tokens
        case 'reused':
          request.log.warn('a refresh token was used twice; its login was ended')
          throw new ApiError('unauthenticated', 'This refresh token was used before; log in again.')
        case 'unknown':
          throw new ApiError('unauthenticated', 'This refresh token is not valid; log in again.')
      }
    },
  )

  app.post(
    '/users/logout',
    {
      config: { access: signedIn, bodyOptional: true },
      schema: {
        tags,
        operationId: 'logOut',
        summary: 'Log out: end the login that the token belongs to',
        response: { 204: Type.Null(), ...errorResponses(401) },
      },
    },
    async (request, reply) => {
      await closeSession(db, callerOf(request).token)
      return reply.code(204).send(null)
    },
  )

  app.get(
    '/users/me',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'readMe',
        summary: 'Who am I',
        response: { 200: ref(userSchema), ...errorResponses(401) },
      },
    },
    async (request) => {
      const { id } = callerOf(request)
      return toUser(
        await db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirstOrThrow(),
      )
    },
  )

  app.get(
    '/users/personal-access-tokens',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'listPersonalAccessTokens',
        summary: 'List my personal access tokens',
        querystring: Exactly(pageQuery),
        response: { 200: Type.Array(Exactly(personalToken)), ...errorResponses(401, 422) },
      },
    },
    async (request, reply) => {
      const page = pageOf(request.query)
      const { rows, total } = await listPersonalTokens(db, callerOf(request).id, page)
      describePage(request, reply, baseUrl(), page, {
        total,
        hasMore: page.offset + rows.length < total && rows.length > 0,
      })
      return rows
    },
  )

  app.post(
    '/users/personal-access-tokens',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'createPersonalAccessToken',
        summary: 'Create a personal access token',
        description: 'The answer is the only one that shows `token`.',
        body: Exactly({
          name: Type.String({ minLength: 1, maxLength: 60 }),
          expires_at: Type.Optional(
            Type.Unsafe<string | null>({ type: ['string', 'null'], format: 'date-time' }),
          ),
        }),
        response: {
          201: Exactly({ ...personalToken, token: Type.String() }),
          ...errorResponses(400, 401, 422),
        },
      },
    },
    async (request, reply) => {
      const { name, expires_at } = request.body
      const expiresAt = expires_at == null ? null : new Date(expires_at)
      if (expiresAt && !(expiresAt.getTime() > Date.now() && expiresAt.getTime() < END_OF_TIME)) {
        throw invalid({ expires_at: ['must be a time in the future, before the year 10000'] })
      }
      return reply.code(201).send(await createPersonalToken(db, callerOf(request).id, { name, expiresAt }))
    },
  )

  app.delete(
    '/users/personal-access-tokens/:id',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'revokePersonalAccessToken',
        summary: 'Revoke a personal access token',
        params: Exactly({ id: Id }),
        response: { 204: Type.Null(), ...errorResponses(401, 404, 422) },
      },
    },
    async (request, reply) => {
      if (!(await revokePersonalToken(db, callerOf(request).id, request.params.id))) throw notFound()
      return reply.code(204).send(null)
    },
  )
}
