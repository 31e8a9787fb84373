import type { FastifyReply } from 'fastify'
import { writeSessionCookie } from '#access/authorization/session-cookie.ts'
import * as t from '#platform/http/schemas.ts'
import type { AccountDeps, TokenLifetimes } from './sessions.ts'
import type { StartedSession } from './start-session.ts'
import { loadUser, userSchema } from './user-schema.ts'

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

/** The response to everything that signs somebody in by the way. */
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
