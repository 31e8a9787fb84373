import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifySchema } from 'fastify'
import { actorOf } from '#access/audit/actor.ts'
import {
  type Access,
  callerOf,
  isByCookie,
  publicly,
  signedIn,
  tokenOf,
  withTokens,
} from '#access/authorization/enforce.ts'
import { operationsOf } from '#access/authorization/operation.ts'
import { isSameOrigin, writeSessionCookie } from '#access/authorization/session-cookie.ts'
import { findRow } from '#platform/database/rows.ts'
import { ApiError } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { loginSchema, signInWithPassword } from './login.ts'
import { signOut } from './manage-sessions.ts'
import { type AccountDeps, renewCookieSession } from './sessions.ts'
import { clearSessionCookie, clientOf, setSessionCookie } from './start-session.ts'
import { isInstanceAdmin, loadUser, userSchema } from './user-schema.ts'

const accountOperation = operationsOf('Accounts')

/** The options of a route about accounts. */
export function operation<Schema extends FastifySchema>(
  access: Access,
  operationId: string,
  summary: string,
  schema: Schema,
) {
  const traits = { bodyOptional: schema.body === undefined }
  return accountOperation(access, operationId, { summary, traits, ...schema })
}

export const sessionSchema = t.namedObject('Session', {
  user: t.described(t.ref(userSchema), 'Who is signed in.'),
  is_instance_admin: t.Flag('Whether they may administer this installation of Gantry.'),
  base_url: t.Text('The base URL of this instance (`GANTRY_URL`): hook URLs and links begin with it.'),
  expires_at: t.TimeOrNull('Extended by use, for up to 30 days; null for a token that does not expire.'),
})

/**
 * Extends cookie sessions while they are used, on every route. Responses to a cookie are private: shared caches must
 * not store them.
 */
export function keepSessionsAlive(app: FastifyInstance, { db, lifetimes, baseUrl }: AccountDeps): void {
  app.addHook('onRequest', async (request, reply) => {
    if (!isByCookie(request)) return
    reply.header('vary', 'Cookie')
    // What operators ask for must not wait for a connection.
    const { access } = request.routeOptions.config
    if (access?.kind === 'instance-admin' && access.available) return
    const { id } = callerOf(request).token
    const seconds = await renewCookieSession(db, id, lifetimes)
    if (seconds === undefined) return
    reply.header('set-cookie', writeSessionCookie({ token: tokenOf(request), seconds }, baseUrl()))
  })
}

export const cookieSessionRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (
  app,
  { db, lifetimes, baseUrl },
) => {
  app.post(
    '/session',
    operation(publicly, 'openSession', 'Sign in with a browser', {
      description:
        'Sets the cookie `__Host-gantry_session`, over plain HTTP `gantry_session`, which scripts cannot read. Writes that it authenticates require the header `X-Gantry-Request: 1` and must come from pages of this service. Programs use POST /users/login.',
      body: loginSchema,
      response: { 200: t.ref(sessionSchema), ...t.errorResponses(400, 401, 403, 422, 429) },
    }),
    async (request, reply) => {
      // Login CSRF: another site must not sign a user in to a foreign account.
      if (!isSameOrigin(request, baseUrl()))
        throw new ApiError('forbidden', "Sign-in must come from Gantry's own pages.")
      const client = { ...clientOf(request, baseUrl()), kind: 'browser' as const }
      const session = await signInWithPassword(db, request.body, client, lifetimes)
      setSessionCookie(reply, session.token, lifetimes, baseUrl())
      const [user, is_instance_admin] = await Promise.all([
        loadUser(db, session.userId),
        isInstanceAdmin(db, session.userId),
      ])
      return { user, is_instance_admin, base_url: baseUrl(), expires_at: session.expiresAt }
    },
  )

  app.get(
    '/session',
    operation(withTokens('any', signedIn), 'readSession', 'Get the current session', {
      description: 'The user behind the cookie or token of the request, and when it expires.',
      response: { 200: t.ref(sessionSchema), ...t.errorResponses(401) },
    }),
    async (request) => {
      const { id, is_instance_admin, token } = callerOf(request)
      const { expires_at } = (await findRow(db, 'tokens', { id: token.id }, ['expires_at']))!
      return { user: await loadUser(db, id), is_instance_admin, base_url: baseUrl(), expires_at }
    },
  )

  app.delete(
    '/session',
    operation(withTokens('any', signedIn), 'closeSession', 'Sign out', {
      description: 'Ends the session immediately, including its event streams, and clears the cookie.',
      response: { 204: t.Null(), ...t.errorResponses(401, 403) },
    }),
    async (request, reply) => {
      await signOut(db, callerOf(request), actorOf(request))
      clearSessionCookie(reply, baseUrl())
      return reply.code(204).send(null)
    },
  )
}
