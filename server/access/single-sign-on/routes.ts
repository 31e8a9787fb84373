import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operation } from '#access/accounts/session-routes.ts'
import { setSessionCookie } from '#access/accounts/start-session.ts'
import { publicly } from '#access/authorization/enforce.ts'
import { passesCsrfCheck } from '#access/authorization/session-cookie.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { ApiError } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import { type Purpose, readAttemptCookie, writeAttemptCookie } from './attempts.ts'
import { createFlow } from './flow.ts'
import { configured, destination, identityRoutes } from './identity-routes.ts'
import { createProvider } from './provider.ts'
import type { SingleSignOnSettings } from './settings.ts'
import type { SignInDeps } from './sign-in.ts'

export type SingleSignOnRoutes = Omit<SignInDeps, 'signup' | 'trustEmail'> & {
  baseUrl: () => string
  passwordLogin: boolean
  /** Null: single sign-on is off. */
  settings: SingleSignOnSettings | null
}

export const singleSignOnRoutes: FastifyPluginAsyncTypebox<SingleSignOnRoutes> = async (app, options) => {
  const { settings, passwordLogin, lifetimes, baseUrl } = options
  const flow = settings && createFlow({ ...options, ...settings, provider: createProvider(settings) })
  await app.register(identityRoutes, { ...options, flow })

  app.get(
    '/session/options',
    operation(publicly, 'readSignInOptions', 'List the ways to sign in', {
      description: 'What the sign-in page offers.',
      response: {
        200: t.Exactly(
          {
            password: t.Flag('Email and password.'),
            oidc: t.Unsafe<{ label: string } | null>({
              ...t.Exactly({ label: t.Text('Text of the button.') }),
              type: ['object', 'null'],
              description: 'Single sign-on with OpenID Connect; null when it is off.',
            }),
          },
          { title: 'SignInOptions' },
        ),
        ...t.errorResponses(406),
      },
    }),
    async () => ({ password: passwordLogin, oidc: settings && { label: settings.label } }),
  )

  app.post(
    '/session/oidc',
    operation(publicly, 'beginSingleSignOn', 'Sign in with single sign-on', {
      description:
        "For Gantry's own pages: requires the header `X-Gantry-Request: 1`, sets a cookie for this sign-in, and returns where to send the browser. Within ten minutes the provider sends it back to `/session/oidc/callback`, which signs in and redirects to `/app`, or to `/app/sign-in?problem=<code>`: `sso_unavailable`, `sso_rejected`, `sso_expired`, `sso_no_account` or `sso_email_taken`.",
      body: t.Exactly({
        invitation_token: t.Optional(
          t.Text({
            minLength: 1,
            maxLength: 512,
            description: 'Accepts this invitation: the new account signs in with this identity.',
          }),
        ),
      }),
      response: { 200: destination, ...t.errorResponses(400, 403, 404, 422, 429) },
    }),
    async (request, reply) => {
      // Login CSRF: another site must not sign a user in to a foreign account.
      if (!passesCsrfCheck(request, baseUrl()))
        throw new ApiError('forbidden', "Sign-in must come from Gantry's own pages.")
      const { invitation_token: token } = request.body
      const purpose: Purpose = token ? { kind: 'invitation', hash: hashToken(token) } : { kind: 'sign-in' }
      return configured(flow).begin(request, reply, purpose)
    },
  )

  app.get(
    '/session/oidc/callback',
    // For browsers, like the pages: every failure is for the sign-in page to explain, so no query is rejected here.
    { config: { access: publicly, notJson: true }, schema: { hide: true } },
    async (request, reply) => {
      if (readAttemptCookie(request.headers.cookie, baseUrl()))
        reply.header('set-cookie', writeAttemptCookie(null, baseUrl()))
      if (!flow) return reply.redirect(`${baseUrl()}/app/sign-in?problem=sso_unavailable`)
      const { page, sessionToken } = await flow.finish(request)
      if (sessionToken !== null) setSessionCookie(reply, sessionToken, lifetimes, baseUrl())
      return reply.redirect(page)
    },
  )
}
