import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { callerOf, isByCookie, publicly, signedIn, tokenOf } from '#access/authorization/enforce.ts'
import { isFromOwnPage, writeSessionCookie } from '#access/authorization/session-cookie.ts'
import type { Database } from '#platform/database/connect.ts'
import { ApiError } from '#platform/http/errors.ts'
import { Exactly, errorResponses, named, ref, TextOrNull } from '#platform/http/schemas.ts'
import { openCookieSession, renewCookieSession } from './cookie-sessions.ts'
import { logIn } from './login.ts'
import { credentials, refusedLogin } from './login-words.ts'
import { closeSession, type TokenLives } from './sessions.ts'
import { toUser, type User, userColumns, userSchema } from './user-schema.ts'

type SessionRoutes = { db: Database; lives: TokenLives; baseUrl: () => string }

const tags = ['Accounts']

export const sessionSchema = named(
  'Session',
  Exactly({
    user: ref(userSchema),
    expires_at: TextOrNull({
      format: 'date-time',
      description: 'Use puts it off, for up to 30 days; null for a token without an end.',
    }),
  }),
)

/**
 * Sessions go on for as long as they are used: whichever route is asked. What a browser gets by its cookie is
 * for nobody else to keep.
 */
export function keepSessionsAlive(app: FastifyInstance, { db, lives, baseUrl }: SessionRoutes): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isByCookie(request)) return
    reply.header('cache-control', 'private, no-cache').header('vary', 'Cookie')
    const { id } = callerOf(request).token
    const seconds = await renewCookieSession(db, id, lives)
    if (seconds === undefined) return
    reply.header('set-cookie', writeSessionCookie({ token: tokenOf(request), seconds }, baseUrl()))
  })
}

export const cookieSessionRoutes: FastifyPluginAsyncTypebox<SessionRoutes> = async (
  app,
  { db, lives, baseUrl },
) => {
  app.post(
    '/session',
    {
      config: { access: publicly },
      schema: {
        tags,
        operationId: 'openSession',
        summary: 'Sign a browser in',
        description:
          'The session is in the cookie `gantry_session`, which scripts cannot read. Requests that change something by it need the header `X-Gantry-Request: 1` and must come from pages of this service. Programs use POST /users/login.',
        security: [],
        body: credentials,
        response: { 200: ref(sessionSchema), ...errorResponses(400, 401, 403, 422, 429) },
      },
    },
    async (request, reply) => {
      // Nobody is to be signed in, unawares, as somebody else.
      if (!isFromOwnPage(request, baseUrl()))
        throw new ApiError('forbidden', 'Pages of other sites cannot sign anybody in.')
      const attempt = { ...request.body, address: request.ip }
      const outcome = await logIn(db, attempt, (trx, userId) => openCookieSession(trx, userId, lives))
      if (outcome.kind !== 'in') throw refusedLogin(outcome)
      const { token, userId, expiresAt } = outcome.session
      const seconds = lives.accessTokenMinutes * 60
      reply.header('set-cookie', writeSessionCookie({ token, seconds }, baseUrl()))
      reply.header('cache-control', 'no-store')
      return { user: await loadUser(db, userId), expires_at: expiresAt }
    },
  )

  app.get(
    '/session',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'readSession',
        summary: 'Who is signed in, and until when',
        response: { 200: ref(sessionSchema), ...errorResponses(401) },
      },
    },
    async (request, reply) => {
      const { id, token } = callerOf(request)
      reply.header('cache-control', 'no-store')
      const { expires_at } = await db
        .selectFrom('tokens')
        .select('expires_at')
        .where('id', '=', token.id)
        .executeTakeFirstOrThrow()
      return { user: await loadUser(db, id), expires_at }
    },
  )

  app.delete(
    '/session',
    {
      config: { access: signedIn },
      schema: {
        tags,
        operationId: 'closeSession',
        summary: 'Sign out',
        description: 'Ends the session at once, also for its event streams, and takes the cookie away.',
        response: { 204: Type.Null(), ...errorResponses(401, 403) },
      },
    },
    async (request, reply) => {
      await closeSession(db, callerOf(request).token)
      // It may just have been renewed.
      reply.removeHeader('set-cookie')
      reply.header('set-cookie', writeSessionCookie(null, baseUrl()))
      return reply.code(204).send(null)
    },
  )
}

async function loadUser(db: Database, id: number): Promise<User> {
  return toUser(
    await db.selectFrom('users').select(userColumns).where('id', '=', id).executeTakeFirstOrThrow(),
  )
}
