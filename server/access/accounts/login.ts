import { createHash } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { type Static, Type } from 'typebox'
import { verifyPassword } from '#platform/crypto/passwords.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { ApiError } from '#platform/http/errors.ts'
import { Exactly } from '#platform/http/schemas.ts'

const WINDOW = sql`interval '15 minutes'`
const MAX_FAILURES_PER_EMAIL = 10
const MAX_FAILURES_PER_ADDRESS = 50

/** What both logins, for programs and for browsers, accept. */
export const loginSchema = Exactly({
  email: Type.String({ minLength: 1, maxLength: 255 }),
  password: Type.String({ minLength: 1, maxLength: 255 }),
})

type LoginOutcome<Session> =
  | { kind: 'logged-in'; session: Session }
  | { kind: 'incorrect' }
  | { kind: 'throttled'; retryAfterSeconds: number }

type LoginAttempt = Static<typeof loginSchema> & { address: string }
type OpenSession<Session> = (trx: Transaction<Tables>, userId: number) => Promise<Session>

/** Returns the session that `open` makes, or throws the response to a failed login. */
export async function logIn<Session>(
  db: Database,
  attempt: LoginAttempt,
  open: OpenSession<Session>,
): Promise<Session> {
  const outcome = await attemptLogin(db, attempt, open)
  switch (outcome.kind) {
    case 'logged-in':
      return outcome.session
    case 'incorrect':
      throw new ApiError('unauthenticated', 'Incorrect email or password.')
    case 'throttled':
      throw new ApiError('too_many_requests', 'Too many failed logins; wait before you try again.', {
        headers: { 'retry-after': String(outcome.retryAfterSeconds) },
      })
  }
}

/**
 * An unknown email and an incorrect password are indistinguishable, also by timing. `open` issues the tokens in the
 * transaction that counts the attempt.
 */
async function attemptLogin<Session>(
  db: Database,
  attempt: LoginAttempt,
  open: OpenSession<Session>,
): Promise<LoginOutcome<Session>> {
  const subjects: Subject[] = [
    { subject: subjectOf('email', attempt.email.toLowerCase()), limit: MAX_FAILURES_PER_EMAIL },
    { subject: subjectOf('address', attempt.address), limit: MAX_FAILURES_PER_ADDRESS },
  ]
  const retryAfterSeconds = await secondsUntilAllowed(db, subjects)
  if (retryAfterSeconds > 0) return { kind: 'throttled', retryAfterSeconds }

  const user = await db
    .selectFrom('users')
    .select(['id', 'password_hash'])
    .where(sql`lower(email)`, '=', attempt.email.toLowerCase())
    .where('active', '=', true)
    .executeTakeFirst()
  const matches = await verifyPassword(attempt.password, user?.password_hash ?? null)
  return db.transaction().execute(async (trx): Promise<LoginOutcome<Session>> => {
    // A thousand concurrent guesses have all passed the check above. One by one they are checked again, so that
    // no more of them than the limit learn whether they were correct.
    await lockSubjects(trx, subjects)
    const retryAfterSeconds = await secondsUntilAllowed(trx, subjects)
    if (retryAfterSeconds > 0) return { kind: 'throttled', retryAfterSeconds }
    if (!user || !matches) {
      await trx
        .insertInto('login_failures')
        .values(subjects.map(({ subject }) => ({ subject })))
        .execute()
      return { kind: 'incorrect' }
    }
    await trx.deleteFrom('login_failures').where('subject', '=', subjects[0]!.subject).execute()
    return { kind: 'logged-in', session: await open(trx, user.id) }
  })
}

type Subject = { subject: Buffer; limit: number }

/** Always email first, then address, so that two logins cannot deadlock. */
async function lockSubjects(trx: Transaction<Tables>, subjects: Subject[]): Promise<void> {
  for (const { subject } of subjects) {
    await sql`select pg_advisory_xact_lock(${subject.readBigInt64BE()})`.execute(trx)
  }
}

/** The time until the oldest counted failure leaves the window; 0 when below every limit. */
async function secondsUntilAllowed(db: Database, subjects: Subject[]): Promise<number> {
  const rows = await db
    .selectFrom('login_failures')
    .select(({ fn }) => [
      'subject',
      fn.countAll<number>().as('failures'),
      sql<number>`ceil(extract(epoch from min(failed_at) + ${WINDOW} - now()))::int`.as('seconds'),
    ])
    .where(
      'subject',
      'in',
      subjects.map(({ subject }) => subject),
    )
    .where('failed_at', '>', sql<string>`now() - ${WINDOW}`)
    .groupBy('subject')
    .execute()
  const waits = rows
    .filter((row) =>
      subjects.some(({ subject, limit }) => subject.equals(row.subject) && row.failures >= limit),
    )
    .map((row) => Math.max(1, row.seconds))
  return Math.max(0, ...waits)
}

function subjectOf(kind: 'email' | 'address', value: string): Buffer {
  return createHash('sha256').update(`${kind}:${value}`).digest()
}
