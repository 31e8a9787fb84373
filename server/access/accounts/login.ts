import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import { verifyPassword } from '#platform/crypto/passwords.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow } from '#platform/database/rows.ts'
import { ApiError } from '#platform/http/errors.ts'
import * as t from '#platform/http/schemas.ts'
import {
  countFailure,
  forgetFailures,
  isFamiliar,
  lockSubjects,
  readThrottle,
  rejectsAtOnce,
  type Subjects,
  subjectsOf,
  throttledFor,
} from './login-throttle.ts'
import type { TokenLifetimes } from './sessions.ts'
import { type SignInClient, type StartedSession, startSession } from './start-session.ts'

/** What both logins, for programs and for browsers, accept. */
export const loginSchema = t.Exactly(
  {
    email: t.Text({ minLength: 1, maxLength: 255, description: 'The email address of the account.' }),
    password: t.Text({ minLength: 1, maxLength: 255, description: 'The password of the account.' }),
  },
  { title: 'LogInRequest' },
)

export type PasswordAttempt = { email: string; password: string; actor: Actor }

/** A password that was compared, but whose result counts only once the attempt is committed. */
type Compared = {
  kind: 'compared'
  attempt: PasswordAttempt
  subjects: Subjects
  user: { id: number; email: string; password_hash: string | null } | undefined
  matches: boolean
}
export type Throttled = { kind: 'throttled'; seconds: number }
export type PasswordOutcome<Result> = { kind: 'done'; result: Result } | { kind: 'incorrect' } | Throttled

/** Calls `onCorrect` in the transaction that counts the attempt, if the password is correct. */
export async function tryPassword<Result>(
  db: Database,
  attempt: PasswordAttempt,
  onCorrect: (trx: Transaction, userId: number) => Promise<Result>,
): Promise<PasswordOutcome<Result>> {
  const compared = await comparePassword(db, attempt)
  return compared.kind === 'throttled' ? compared : commitAttempt(db, compared, onCorrect)
}

/** Takes as long for an unknown email as for an incorrect password. */
export async function comparePassword(db: Database, attempt: PasswordAttempt): Promise<Compared | Throttled> {
  const subjects = subjectsOf(attempt.email, attempt.actor.ipAddress ?? '')
  const seconds = rejectsAtOnce(await readThrottle(db, subjects))
  if (seconds !== null) return { kind: 'throttled', seconds }
  const user = await db
    .selectFrom('users')
    .select(['id', 'email', 'active', 'password_hash'])
    .where(sql`lower(email)`, '=', attempt.email.toLowerCase())
    .executeTakeFirst()
  const matches = await verifyPassword(attempt.password, user?.active ? user.password_hash : null)
  return { kind: 'compared', attempt, subjects, user, matches }
}

/**
 * A thousand concurrent guesses have all been compared. Here they are counted one by one, so that no more of them than
 * the limit learn whether they were correct.
 */
export async function commitAttempt<Result>(
  db: Database,
  { attempt, subjects, user, matches }: Compared,
  onCorrect: (trx: Transaction, userId: number) => Promise<Result>,
): Promise<PasswordOutcome<Result>> {
  return db.transaction().execute(async (trx): Promise<PasswordOutcome<Result>> => {
    await lockSubjects(trx, subjects)
    const throttle = await readThrottle(trx, subjects)
    const rejected = rejectsAtOnce(throttle)
    if (rejected !== null) return { kind: 'throttled', seconds: rejected }
    const throttled = throttledFor(throttle)
    // Read for unknown accounts as well: it takes the same time.
    const isKnownHere = await isFamiliar(trx, user?.id ?? 0, attempt.actor.ipAddress ?? '')
    const mayPass = throttled === null || isKnownHere
    if (mayPass && matches && (await lockPassword(trx, user!))) {
      await forgetFailures(trx, subjects)
      return { kind: 'done', result: await onCorrect(trx, user!.id) }
    }
    await countFailure(trx, subjects, { forAccount: !isKnownHere && throttle.account === null })
    if (throttled !== null) return { kind: 'throttled', seconds: throttled }
    // An unknown email may be a password typed into the wrong field: it is not stored.
    const account = user ?? { id: 'unknown', email: 'unknown' }
    await recordAccount(trx, attempt.actor, 'sign_in_failed', account, { after: { method: 'password' } })
    return { kind: 'incorrect' }
  })
}

/** False when the password was changed, or the account was deactivated, after the password was compared. */
async function lockPassword(trx: Transaction, user: NonNullable<Compared['user']>): Promise<boolean> {
  const row = await findRow(trx, 'users', { id: user.id }, ['password_hash', 'active'], 'for share')
  return row?.active === true && row.password_hash === user.password_hash
}

/** The response to a failed attempt. */
export function tooManyAttempts({ seconds }: Throttled): ApiError {
  return new ApiError('too_many_requests', 'Too many failed logins; wait before you try again.', {
    headers: { 'retry-after': String(seconds) },
  })
}

/** The session of a client that knows the password; otherwise the response to a failed login is thrown. */
export async function signInWithPassword<Kind extends SignInClient['kind']>(
  db: Database,
  input: t.Static<typeof loginSchema>,
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
