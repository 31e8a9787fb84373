import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, isByCookie, signedIn, withTokens } from '#access/authorization/enforce.ts'
import { invalid, notFound } from '#platform/http/errors.ts'
import { readIfMatch } from '#platform/http/if-match.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { tooManyAttempts } from './login.ts'
import { endAllSessions, endSession, listSessions } from './manage-sessions.ts'
import { changePassword, changeProfile } from './own-account.ts'
import { ownPermissionsSchema, permissionsByScope } from './own-permissions.ts'
import { issuedPersonalToken, personalToken, personalTokenInput } from './personal-token-schema.ts'
import { createPersonalToken, listPersonalTokens, revokePersonalToken } from './personal-tokens.ts'
import { operation } from './session-routes.ts'
import type { AccountDeps } from './sessions.ts'
import { clearSessionCookie } from './start-session.ts'
import { currentPassword, newPassword, userSchema } from './user-schema.ts'

const profileChange = t.Exactly({
  name: t.Optional(t.Name(255, 'Your name, for display.')),
  language: t.Optional(
    t.Text({
      maxLength: 35,
      pattern: '^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$',
      'x-hint': 'must be a language tag such as en or pt-BR',
      description: 'A BCP 47 language tag.',
    }),
  ),
})

const sessionInList = t.Exactly(
  {
    id: t.idOf('session'),
    kind: t.Word(['browser', 'api'], '`browser`: signed in with a cookie. `api`: with tokens.'),
    current: t.Flag('The session that this request belongs to.'),
    ip_address: t.TextOrNull('Where the sign-in came from; null when that was not recorded.'),
    user_agent: t.TextOrNull('What the client called itself when it signed in.'),
    created_at: t.Time('When the user signed in.'),
    last_used_at: t.Time('When it was last used, accurate to a minute.'),
    expires_at: t.Time('When it ends, unless it is used or refreshed before.'),
  },
  { title: 'ActiveSession' },
)

/** What signed-in users do with their own account. */
export const ownAccountRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, { db, baseUrl }) => {
  app.put(
    '/users/me',
    operation(signedIn, 'changeMe', 'Change your name or language', {
      description:
        'Fields that you omit keep their value. Send `If-Match` with the `ETag` of your last read to avoid overwriting a concurrent change.',
      body: profileChange,
      response: {
        200: t.withHeaders(t.ref(userSchema), { ETag: {} }),
        ...t.errorResponses(400, 401, 412, 422),
      },
    }),
    async (request, reply) => {
      const [caller, actor, ifMatch] = [callerOf(request), actorOf(request), readIfMatch(request)]
      const { user, version } = unwrap(await changeProfile(db, caller, request.body, actor, ifMatch))
      reply.header('etag', `"${version}"`)
      return user
    },
  )

  app.get(
    '/users/me/permissions',
    operation(signedIn, 'listOwnPermissions', 'List your permissions', {
      description:
        'What your roles allow, by the organization, project or environment that they are granted in. Entries add up. Being an instance administrator gives no permissions in organizations.',
      response: { 200: t.List(t.ref(ownPermissionsSchema)), ...t.errorResponses(401) },
    }),
    async (request) => permissionsByScope(callerOf(request).grants),
  )

  app.post(
    '/users/me/password',
    operation(signedIn, 'changePassword', 'Change your password', {
      description:
        'Ends all other sessions; personal access tokens stay valid. Incorrect current passwords are throttled like failed logins.',
      body: t.Exactly({ current_password: currentPassword, new_password: newPassword }),
      response: { 204: t.Null(), ...t.errorResponses(400, 401, 403, 409, 422, 429) },
    }),
    async (request, reply) => {
      const outcome = await changePassword(db, callerOf(request), request.body, actorOf(request))
      switch (outcome.kind) {
        case 'throttled':
          throw tooManyAttempts(outcome)
        case 'incorrect':
          throw invalid({ current_password: ['is incorrect'] })
        default:
          unwrap(outcome)
          return reply.code(204).send(null)
      }
    },
  )

  app.get(
    '/users/me/sessions',
    operation(signedIn, 'listSessions', 'List your sessions', {
      description: 'Every browser and program that is signed in to your account, newest first.',
      querystring: t.Exactly(pageQuery),
      response: { 200: t.List(sessionInList), ...t.errorResponses(401, 422) },
    }),
    async (request, reply) => {
      const page = pageOf(request.query)
      const { id, token } = callerOf(request)
      const { rows, extent } = await listSessions(db, id, token, page)
      describePage(request, reply, baseUrl(), page, extent)
      return rows
    },
  )

  app.delete(
    '/users/me/sessions/:id',
    operation(signedIn, 'endSession', 'End a session', {
      description: 'Its tokens and event streams end immediately.',
      params: t.Exactly({ id: t.Id }),
      response: { 204: t.Null(), ...t.errorResponses(401, 404, 422) },
    }),
    async (request, reply) => {
      const ended = await endSession(db, callerOf(request), request.params.id, actorOf(request))
      if (!ended) throw notFound()
      if (ended.wasCurrent && isByCookie(request)) clearSessionCookie(reply, baseUrl())
      return reply.code(204).send(null)
    },
  )

  app.post(
    '/users/me/sessions/end-all',
    operation(signedIn, 'endAllSessions', 'End all sessions', {
      description: 'Ends every session, the current one included. Personal access tokens stay valid.',
      response: { 204: t.Null(), ...t.errorResponses(401) },
    }),
    async (request, reply) => {
      await endAllSessions(db, callerOf(request), actorOf(request))
      if (isByCookie(request)) clearSessionCookie(reply, baseUrl())
      return reply.code(204).send(null)
    },
  )
}

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
