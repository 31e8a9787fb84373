import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { operation } from '#access/accounts/session-routes.ts'
import { actorOf } from '#access/audit/actor.ts'
import { callerOf, signedIn } from '#access/authorization/enforce.ts'
import { ApiError } from '#platform/http/errors.ts'
import { unwrap } from '#platform/http/problems.ts'
import * as t from '#platform/http/schemas.ts'
import type { Flow } from './flow.ts'
import { listIdentities, unlinkIdentity } from './identities.ts'
import type { SignInDeps } from './sign-in.ts'

type IdentityRoutes = Pick<SignInDeps, 'db' | 'replaceRoles'> & {
  passwordLogin: boolean
  settings: { issuer: string; label: string } | null
  flow: Flow | null
}

export const destination = t.Exactly(
  {
    url: t.Text(
      "For the browser to open: the provider's sign-in page or, when the provider is not available, the page of Gantry that says so.",
    ),
  },
  { title: 'BrowserDestination' },
)

/** Of routes that begin a sign-in at the provider. */
export function configured(flow: Flow | null): Flow {
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

/** Who somebody is at identity providers: what they can sign in with besides their password. */
export const identityRoutes: FastifyPluginAsyncTypebox<IdentityRoutes> = async (
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
