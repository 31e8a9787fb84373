import { randomUUID } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { recordAccount } from '#access/audit/record.ts'
import { isSameOrigin } from '#access/authorization/session-cookie.ts'
import type { Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { networkOf } from './networks.ts'
import { type IssuedTokens, issueCookieToken, issueTokens, type TokenLifetimes } from './sessions.ts'

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
  const user = await trx
    .selectFrom('users')
    .select('email')
    .where('id', '=', userId)
    .where('active', '=', true)
    .forShare()
    .executeTakeFirst()
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
