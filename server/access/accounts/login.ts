import { createHash } from 'node:crypto'
import { sql, type Transaction } from 'kysely'
import { verifyPassword } from '#platform/crypto/passwords.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'

export type LoginOutcome<Session> = { kind: 'in'; session: Session } | LoginRefusal
export type LoginRefusal = { kind: 'wrong' } | { kind: 'throttled'; retryAfterSeconds: number }

export type LoginAttempt = { email: string; password: string; address: string }

const WINDOW_MINUTES = 15
const MOST_FAILURES_PER_EMAIL = 10
const MOST_FAILURES_PER_ADDRESS = 50

/**
 * Unknown e-mail and wrong password look the same, also to a clock. `open` gives whoever is right their tokens,
 * in the transaction that counts the attempt.
 */
export async function logIn<Session>(
  db: Database,
  attempt: LoginAttempt,
  open: (trx: Transaction<Tables>, userId: number) => Promise<Session>,
): Promise<LoginOutcome<Session>> {
  const subjects: Subject[] = [
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
  return db.transaction().execute(async (trx): Promise<LoginOutcome<Session>> => {
    // A thousand guesses made at once have all passed the check above. One by one they pass it again, so
    // that no more than the limit learn whether they were right.
    await holdSubjects(trx, subjects)
    const retryAfterSeconds = await secondsUntilAllowed(trx, subjects)
    if (retryAfterSeconds > 0) return { kind: 'throttled', retryAfterSeconds }
    if (!user || !matches) {
      await trx
        .insertInto('login_failures')
        .values(subjects.map(({ subject }) => ({ subject })))
        .execute()
      return { kind: 'wrong' }
    }
    await trx.deleteFrom('login_failures').where('subject', '=', subjects[0]!.subject).execute()
    return { kind: 'in', session: await open(trx, user.id) }
  })
}

type Subject = { subject: Buffer; most: number }

/** Always e-mail first, then address: two logins cannot wait for each other. */
async function holdSubjects(trx: Transaction<Tables>, subjects: Subject[]): Promise<void> {
  for (const { subject } of subjects) {
    await sql`select pg_advisory_xact_lock(${subject.readBigInt64BE()})`.execute(trx)
  }
}

/** How long until the oldest failure that counts leaves the window; 0 when below every limit. */
async function secondsUntilAllowed(db: Database, subjects: Subject[]): Promise<number> {
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
