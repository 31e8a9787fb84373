import type { Static } from 'typebox'
import type { Database } from '#platform/database/connect.ts'
import { ApiError } from '#platform/http/errors.ts'
import { type loginSchema, tooManyAttempts, tryPassword } from './login.ts'
import type { TokenLifetimes } from './sessions.ts'
import { type SignInClient, type StartedSession, startSession } from './start-session.ts'

/** The session of a client that knows the password; otherwise the response to a failed login is thrown. */
export async function signInWithPassword<Kind extends SignInClient['kind']>(
  db: Database,
  input: Static<typeof loginSchema>,
  client: SignInClient & { kind: Kind },
  lifetimes: TokenLifetimes,
): Promise<Extract<StartedSession, { kind: Kind }>> {
  const actor = { userId: null, ipAddress: client.ipAddress, requestId: client.requestId }
  const outcome = await tryPassword(db, { ...input, actor }, (trx, userId) =>
    startSession(trx, userId, 'password', client, lifetimes),
  )
  if (outcome.kind === 'throttled') throw tooManyAttempts(outcome)
  if (outcome.kind === 'incorrect') throw new ApiError('unauthenticated', 'Incorrect email or password.')
  return outcome.result as Extract<StartedSession, { kind: Kind }>
}
