import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { actorOf } from '#access/audit/actor.ts'
import { instanceAdmin, publicly } from '#access/authorization/enforce.ts'
import { describePage, pageOf, pageQuery } from '#platform/http/pagination.ts'
import { toApiError, unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { listUsers, setUserActive } from './manage-users.ts'
import { createPasswordReset, findPasswordReset, NOT_VALID, resetPassword } from './password-resets.ts'
import { operation } from './session-routes.ts'
import type { AccountDeps } from './sessions.ts'
import { clientOf, presentSignedIn, signedInSchema } from './start-session.ts'
import { linkToken, newPassword, userSchema } from './user-schema.ts'

/** What instance administrators see of an account. */
export const userAccountSchema = t.namedObject('UserAccount', {
  ...userSchema.properties,
  is_instance_admin: t.Flag('May administer this installation of Gantry.'),
  last_sign_in_at: t.TimeOrNull('Null when they never signed in.'),
})

/** Managing all accounts of the instance, and resetting passwords. */
export const userRoutes: FastifyPluginAsyncTypebox<AccountDeps> = async (app, deps) => {
  const { db, lifetimes, baseUrl } = deps

  app.get(
    '/users',
    operation(instanceAdmin, 'listUsers', 'List users', {
      description: 'Every account of this installation, newest first.',
      querystring: t.Exactly({
        ...pageQuery,
        ...t.optionalFields({
          'filter[email]': t.Text({
            maxLength: 255,
            description: 'Only addresses that contain this text, in any case.',
          }),
          'filter[active]': t.Flag('Only active or deactivated accounts.'),
        }),
      }),
      response: { 200: t.List(t.ref(userAccountSchema)), ...t.errorResponses(401, 403, 422) },
    }),
    async (request, reply) => {
      const page = pageOf(request.query)
      const { 'filter[email]': email, 'filter[active]': active } = request.query
      const { rows, extent } = await listUsers(db, { email, active }, page)
      describePage(request, reply, baseUrl(), page, extent)
      return rows
    },
  )

  app.put(
    '/users/:id',
    operation(instanceAdmin, 'changeUser', 'Activate or deactivate a user', {
      description:
        'Deactivating signs the user out immediately, event streams included. Their personal access tokens and links are rejected until the account is activated again. One instance administrator must remain active.',
      params: t.Exactly({ id: t.Id }),
      body: t.Exactly({
        active: t.Flag('Whether the user may sign in and use tokens.'),
      }),
      response: { 200: t.ref(userAccountSchema), ...t.errorResponses(400, 401, 403, 404, 409, 422) },
    }),
    async (request) => {
      const { params, body } = request
      return unwrap(await setUserActive(db, params.id, body.active, actorOf(request))).user
    },
  )

  app.post(
    '/users/:id/password-reset',
    operation(instanceAdmin, 'createPasswordReset', "Reset a user's password", {
      description:
        'Returns a link with which the user sets a new password. It is returned only in this response, works once, for one hour, and replaces earlier links. Ends all sessions of the user and revokes their personal access tokens.',
      params: t.Exactly({ id: t.Id }),
      response: {
        201: t.Exactly(
          {
            url: t.Text('Send it to the user over a channel that you trust.'),
            expires_at: t.Time('When the link stops working.'),
          },
          { title: 'PasswordResetLink' },
        ),
        ...t.errorResponses(401, 403, 404, 409, 422),
      },
    }),
    async (request, reply) => {
      const outcome = await createPasswordReset(db, request.params.id, actorOf(request), baseUrl())
      const { url, expires_at } = unwrap(outcome)
      return reply.code(201).send({ url, expires_at })
    },
  )

  app.post(
    '/users/read-password-reset',
    operation(publicly, 'readPasswordReset', 'Check a password reset link', {
      description: 'The account that the link is for. Links that are unknown, used or expired are 422.',
      body: t.Exactly({ token: linkToken }),
      response: {
        200: t.Exactly(
          {
            email: t.Text('The address of the account that the link is for.'),
            expires_at: t.Time('When the link stops working.'),
          },
          { title: 'PasswordReset' },
        ),
        ...t.errorResponses(400, 403, 422),
      },
    }),
    async (request) => {
      const found = await findPasswordReset(db, request.body.token)
      if (!found) throw toApiError(NOT_VALID)
      return { email: found.email, expires_at: found.expires_at }
    },
  )

  app.post(
    '/users/reset-password',
    operation(publicly, 'resetPassword', 'Set a new password', {
      description: 'With the token of a password reset link, which works once. Signs the user in.',
      body: t.Exactly({ token: linkToken, password: newPassword }),
      response: { 200: t.ref(signedInSchema), ...t.errorResponses(400, 403, 422) },
    }),
    async (request, reply) => {
      const client = clientOf(request, baseUrl())
      const { session } = unwrap(await resetPassword(db, request.body, client, lifetimes))
      return presentSignedIn(reply, deps, session.userId, session)
    },
  )
}
