import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operation } from '#access/accounts/session-routes.ts'
import { setSessionCookie } from '#access/accounts/start-session.ts'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, publicly, signedIn } from '#access/authorization/enforce.ts'
import { passesCsrfCheck } from '#access/authorization/session-cookie.ts'
import { hashToken } from '#platform/crypto/tokens.ts'
import { ApiError } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import { type Purpose, readAttemptCookie, writeAttemptCookie } from './attempts.ts'
import { createFlow, type Flow } from './flow.ts'
import { listIdentities, unlinkIdentity } from './identities.ts'
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

type IdentityRoutes = SingleSignOnRoutes & { flow: Flow | null }

const destination = t.Exactly(
  {
    url: t.Text(
      "For the browser to open: the provider's sign-in page or, when the provider is not available, the page of Gantry that says so.",
    ),
  },
  { title: 'BrowserDestination' },
)

/** Of routes that begin a sign-in at the provider. */
function configured(flow: Flow | null): Flow {
  if (!flow) throw new ApiError('not_found', 'Single sign-on is not configured.')
  return flow
}

const identity = t.Exactly(
  {
    id: t.idOf('identity'),
    issuer: t.Text('The identity provider.'),
    label: t.Text('What the sign-in button calls it, or the host of the issuer.'),
    created_at: t.Time('When it was linked.'),
    last_used_at: t.TimeOrNull('When it was last used to sign in; null: never.'),
  },
  { title: 'Identity' },
)

/** The accounts of a user at identity providers, which they can sign in with besides their password. */
const identityRoutes: FastifyPluginAsyncTypebox<IdentityRoutes> = async (
  app,
  { db, replaceRoles, passwordLogin, settings, flow },
) => {
  const isUsable = (issuer: string) => settings !== null && isSameIssuer(issuer, settings.issuer)

  app.get(
    '/users/me/identities',
    operation(signedIn, 'listIdentities', 'List linked identities', {
      description: 'What you can sign in with besides your password; the newest first.',
      response: { 200: t.List(identity), ...t.errorResponses(401) },
    }),
    async (request) => {
      const identities = await listIdentities(db, callerOf(request).id)
      return identities.map(({ id, issuer, ...dates }) => ({
        id,
        issuer,
        label: isUsable(issuer) ? settings!.label : (URL.parse(issuer)?.host ?? issuer),
        ...dates,
      }))
    },
  )

  app.post(
    '/users/me/identities',
    operation(signedIn, 'linkIdentity', 'Link an identity', {
      description:
        'Returns where to send the browser. Your identity at the provider can then sign in to your account. It must be the browser that this response goes to; it returns to `/app/account`, after a failure with `?problem=<code>` as for POST /session/oidc, or `sso_identity_taken`.',
      response: { 200: destination, ...t.errorResponses(401, 403, 404, 429) },
    }),
    async (request, reply) => {
      const { id: userId, token } = callerOf(request)
      return configured(flow).begin(request, reply, { kind: 'link', userId, tokenId: token.id })
    },
  )

  app.delete(
    '/users/me/identities/:id',
    operation(signedIn, 'unlinkIdentity', 'Unlink an identity', {
      description:
        'Roles that came from groups of the identity provider are revoked. Returns 409 for your only way to sign in.',
      params: t.Exactly({ id: t.Id }),
      response: { 204: t.Null(), ...t.errorResponses(401, 403, 404, 409, 422) },
    }),
    async (request, reply) => {
      const [userId, actor] = [callerOf(request).id, actorOf(request)]
      await db.transaction().execute(async (trx) => {
        const rules = { passwordLogin, isUsable }
        unwrap(await unlinkIdentity(trx, actor, { userId, id: request.params.id }, rules))
        await replaceRoles(trx, { userId, actor }, [])
      })
      return reply.code(204).send(null)
    },
  )
}

function isSameIssuer(one: string, other: string): boolean {
  return one.replace(/\/$/, '') === other.replace(/\/$/, '')
}
