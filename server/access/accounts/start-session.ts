import { randomUUID } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { recordAccount } from '#access/audit/record.ts'
import { isSameOrigin, writeSessionCookie } from '#access/authorization/session-cookie.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'
import * as t from '#platform/http/schemas.ts'
import { networkOf } from './networks.ts'
import {
  type AccountDeps,
  type IssuedTokens,
  issueCookieToken,
  issueTokens,
  type TokenLifetimes,
} from './sessions.ts'
import { loadUser, userSchema } from './user-schema.ts'

// Every way in ends here: password, invitation, password reset, single sign-on.

/** Who signs in: a browser gets a cookie, a program gets tokens. */
export type SignInClient = {
  kind: 'browser' | 'api'
  ipAddress: string
  userAgent: string | null
  requestId: string
}

export type SignInMethod = 'password' | 'invitation' | 'password_reset' | 'oidc'

export type StartedSession =
  | { kind: 'browser'; userId: number; token: string; expiresAt: string }
  | { kind: 'api'; userId: number; tokens: IssuedTokens }

const MAX_USER_AGENT = 255

/** The client behind a request: a browser when the request comes from Gantry's own pages. */
export function clientOf(request: FastifyRequest, baseUrl: string): SignInClient {
  const isOwnPage = request.headers['x-gantry-request'] === '1' && isSameOrigin(request, baseUrl)
  const userAgent = request.headers['user-agent']
  return {
    kind: isOwnPage ? 'browser' : 'api',
    ipAddress: request.ip,
    // It is shown to people: nothing in it may break a line or change the direction of text.
    userAgent: userAgent?.replaceAll(/\p{C}/gu, '?').slice(0, MAX_USER_AGENT) ?? null,
    requestId: request.id,
  }
}

/**
 * Starts a session for somebody who has just proved who they are, records it, and remembers their network.
 * Undefined when the account is gone or not active.
 */
export async function startSession(
  trx: Transaction,
  userId: number,
  method: SignInMethod,
  client: SignInClient,
  lifetimes: TokenLifetimes,
): Promise<StartedSession | undefined> {
  // Locked: when all sessions of the user end at the same time, this one must not slip through.
  const user = await findRow(trx, 'users', { id: userId, active: true }, ['email'], 'for share')
  if (!user) return undefined
  const { kind, ipAddress, userAgent, requestId } = client
  const family = randomUUID()
  await trx
    .insertInto('sessions')
    .values({ user_id: userId, family, kind, ip_address: ipAddress, user_agent: userAgent })
    .execute()
  await trx
    .insertInto('sign_in_networks')
    .values({ user_id: userId, network: networkOf(ipAddress), signed_in_at: NOW })
    .onConflict((conflict) => conflict.columns(['user_id', 'network']).doUpdateSet({ signed_in_at: NOW }))
    .execute()
  const actor = { userId, ipAddress, requestId }
  await recordAccount(trx, actor, 'signed_in', { id: userId, email: user.email }, { after: { method } })
  return kind === 'browser'
    ? { kind, userId, ...(await issueCookieToken(trx, { userId, family }, lifetimes)) }
    : { kind, userId, tokens: await issueTokens(trx, { userId, family }, lifetimes) }
}

/** The response to a login of a program. */
export const issuedTokens = t.Exactly(
  {
    access_token: t.Text('Send it as `Authorization: Bearer <access_token>`.'),
    token_type: t.Literal('bearer', { description: 'Always `bearer`.' }),
    expires_in: t.Integer('Seconds until the access token expires.'),
    refresh_token: t.Text('Works once; see POST /users/refresh-token.'),
  },
  { title: 'IssuedTokens' },
)

const UNLESS_COOKIE =
  "Null when no tokens were issued: the caller was already signed in, or the request came from Gantry's own pages, which get the session cookie instead."

/** The response to a request that also signs its user in: an invitation, a password reset. */
export const signedInSchema = t.namedObject('SignedIn', {
  user: t.described(t.ref(userSchema), 'Who is signed in now.'),
  access_token: t.TextOrNull(UNLESS_COOKIE),
  token_type: t.TextOrNull({ enum: ['bearer', null], description: 'Null when no tokens were issued.' }),
  expires_in: t.IntegerOrNull('Seconds until the access token expires, or null.'),
  refresh_token: t.TextOrNull('Works once; see POST /users/refresh-token. Or null.'),
})

const NO_TOKENS = { access_token: null, token_type: null, expires_in: null, refresh_token: null }

/** Answers with the tokens of a session, or sets its cookie; `null` when the caller was signed in before. */
export async function presentSignedIn(
  reply: FastifyReply,
  { db, lifetimes, baseUrl }: AccountDeps,
  userId: number,
  session: StartedSession | null,
): Promise<t.Static<typeof signedInSchema>> {
  if (session?.kind === 'browser') setSessionCookie(reply, session.token, lifetimes, baseUrl())
  const user = await loadUser(db, userId)
  return session?.kind === 'api' ? { user, ...session.tokens } : { user, ...NO_TOKENS }
}

export function setSessionCookie(
  reply: FastifyReply,
  token: string,
  { accessTokenMinutes }: TokenLifetimes,
  baseUrl: string,
): void {
  reply.header('set-cookie', writeSessionCookie({ token, seconds: accessTokenMinutes * 60 }, baseUrl))
}

/** Also where it was just renewed. */
export function clearSessionCookie(reply: FastifyReply, baseUrl: string): void {
  reply.removeHeader('set-cookie').header('set-cookie', writeSessionCookie(null, baseUrl))
}
