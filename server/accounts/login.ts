import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { verifyPassword } from '#crypto/passwords.ts'
import type { Database } from '#database/connect.ts'
import { type IssuedTokens, openSession, type TokenLives } from './sessions.ts'

export type LoginOutcome =
  | { kind: 'in'; tokens: IssuedTokens }
  | { kind: 'wrong' }
  | { kind: 'throttled'; retryAfterSeconds: number }

export type LoginAttempt = { email: string; password: string; address: string }

const WINDOW_MINUTES = 15
const MOST_FAILURES_PER_EMAIL = 10
const MOST_FAILURES_PER_ADDRESS = 50

/** Unknown e-mail and wrong password look the same, also to a clock. */
export async function logIn(db: Database, attempt: LoginAttempt, lives: TokenLives): Promise<LoginOutcome> {
  const subjects = [
    { subject: subjectOf('email', attempt.email.toLowerCase()), most: MOST_FAILURES_PER_EMAIL },
    { subject: subjectOf('address', attempt.address), most: MOST_FAILURES_PER_ADDRESS },
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
  if (user && matches) {
    await db.deleteFrom('login_failures').where('subject', '=', subjects[0]!.subject).execute()
    return { kind: 'in', tokens: await openSession(db, user.id, lives) }
  }
  await db
    .insertInto('login_failures')
    .values(subjects.map(({ subject }) => ({ subject })))
    .execute()
  return { kind: 'wrong' }
}

/** How long until the oldest failure that counts leaves the window; 0 when below every limit. */
async function secondsUntilAllowed(
  db: Database,
  subjects: { subject: Buffer; most: number }[],
): Promise<number> {
  const rows = await db
    .selectFrom('login_failures')
    .select(({ fn }) => [
      'subject',
      fn.countAll<number>().as('failures'),
      sql<number>`ceil(extract(epoch from min(failed_at) + ${WINDOW_MINUTES}::int * interval '1 minute' - now()))::int`.as(
        'seconds',
      ),
    ])
    .where(
      'subject',
      'in',
      subjects.map(({ subject }) => subject),
    )
    .where('failed_at', '>', sql<string>`now() - ${WINDOW_MINUTES}::int * interval '1 minute'`)
    .groupBy('subject')
    .execute()
  const waits = rows
    .filter((row) =>
      subjects.some(({ subject, most }) => subject.equals(row.subject) && row.failures >= most),
    )
    .map((row) => Math.max(1, row.seconds))
  return Math.max(0, ...waits)
}

function subjectOf(kind: 'email' | 'address', value: string): Buffer {
  return createHash('sha256').update(`${kind}:${value}`).digest()
}
