import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { tooManyAttempts } from '#access/accounts/login.ts'
import { operation } from '#access/accounts/session-routes.ts'
import { loadUser } from '#access/accounts/user-schema.ts'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, publicly, signedIn, withTokens } from '#access/authorization/enforce.ts'
import { ApiError, invalid } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { createAuthorization } from './authorizations.ts'
import { requireBrowser } from './browser-only.ts'
import { type DeviceRoutes, deviceRoutes } from './device-routes.ts'
import { exchangeCode } from './exchange.ts'
import { authorizationInput, authorizationSchema, exchanged, exchangeInput } from './schemas.ts'

/** One answer for every reason. */
const REFUSED = 'is not valid: it was used, has expired, or belongs to another login. Run gantry login again'

export const commandLineLoginRoutes: FastifyPluginAsyncTypebox<DeviceRoutes> = async (app, deps) => {
  const { db } = deps
  await app.register(deviceRoutes, deps)
  app.post(
    '/session/authorizations',
    {
      ...operation(
        withTokens('none', signedIn),
        'createLoginAuthorization',
        'Approve a login of the command line',
        {
          description:
            'For the page `/app/authorize`, which `gantry login` opens. Requires the session cookie of a browser; tokens are rejected. The page then opens `redirect_uri` with `code` and the `state` it was given. POST /session/authorizations/token exchanges the code.',
          body: t.ref(authorizationInput),
          response: { 201: t.ref(authorizationSchema), ...t.errorResponses(400, 401, 403, 422, 429) },
        },
      ),
      onRequest: requireBrowser,
    },
    async (request, reply) => {
      const outcome = await db
        .transaction()
        .execute((trx) => createAuthorization(trx, callerOf(request), request.body))
      if (outcome.kind === 'too-many')
        throw new ApiError('too_many_requests', 'Too many unfinished logins; wait before you try again.', {
          headers: { 'retry-after': '120' },
        })
      const { code, expires_at } = unwrap(outcome)
      return reply.code(201).send({ code, expires_at })
    },
  )

  app.post(
    '/session/authorizations/token',
    operation(publicly, 'exchangeLoginAuthorization', 'Exchange a code for a personal access token', {
      description:
        'The second half of `gantry login`. The token has every permission of the user who approved, except that it approves runs only if that was allowed, expires after 90 days and is named `gantry on <name>`. A code works once: an attempt with a wrong verifier or redirect URI uses it up. Failures are throttled like failed logins.',
      body: t.ref(exchangeInput),
      response: { 201: exchanged, ...t.errorResponses(400, 422, 429) },
    }),
    async (request, reply) => {
      const outcome = await exchangeCode(db, request.body, actorOf(request))
      switch (outcome.kind) {
        case 'done': {
          const user = await loadUser(db, outcome.userId)
          return reply.code(201).send({ ...outcome.row, user })
        }
        case 'refused':
          throw invalid({ code: [REFUSED] })
        case 'throttled':
          throw tooManyAttempts(outcome)
      }
    },
  )
}
