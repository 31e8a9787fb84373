import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import { type Static, Type } from 'typebox'
import { verifyPassword } from '#platform/crypto/passwords.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
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

/**
 * Returns the session that `open` makes in the transaction that counts the attempt, or throws the response to a failed
 * login. An unknown email and an incorrect password are indistinguishable, also by timing.
 */
export async function logIn<Session extends object>(
  db: Database,
  attempt: Static<typeof loginSchema> & { address: string },
  open: (trx: Transaction, userId: number) => Promise<Session>,
): Promise<Session> {
  const subjects: Subject[] = [
    { subject: subjectOf('email', attempt.email.toLowerCase()), limit: MAX_FAILURES_PER_EMAIL },
    { subject: subjectOf('address', attempt.address), limit: MAX_FAILURES_PER_ADDRESS },
  ]
  await rejectAboveLimit(db, subjects)
  const user = await db
    .selectFrom('users')
    .select(['id', 'password_hash'])
    .where(sql`lower(email)`, '=', attempt.email.toLowerCase())
    .where('active', '=', true)
    .executeTakeFirst()
  const matches = await verifyPassword(attempt.password, user?.password_hash ?? null)
  const session = await db.transaction().execute(async (trx) => {
    // A thousand concurrent guesses have all passed the check above. One by one they are checked again, so that
    // no more of them than the limit learn whether they were correct.
    // The locks are always taken in the same order, so that two logins cannot deadlock.
    for (const { subject } of subjects) {
      await sql`select pg_advisory_xact_lock(${subject.readBigInt64BE()})`.execute(trx)
    }
    await rejectAboveLimit(trx, subjects)
    if (user && matches) {
      await trx.deleteFrom('login_failures').where('subject', '=', subjects[0]!.subject).execute()
      return open(trx, user.id)
    }
    const failures = subjects.map(({ subject }) => ({ subject }))
    await trx.insertInto('login_failures').values(failures).execute()
    return undefined
  })
  // Thrown out here: the failure has to be committed.
  if (!session) throw new ApiError('unauthenticated', 'Incorrect email or password.')
  return session
}

type Subject = { subject: Buffer; limit: number }

/** Throws until the oldest counted failure has left the window. */
async function rejectAboveLimit(db: Database, subjects: Subject[]): Promise<void> {
  const rows = await db
    .selectFrom('login_failures')
    .select(({ fn }) => [
      'subject',
      fn.countAll<number>().as('failures'),
      sql<number>`ceil(extract(epoch from min(failed_at) + ${WINDOW} - now()))::int`.as('seconds'),
    ])
    .where('failed_at', '>', sql<string>`now() - ${WINDOW}`)
    .where(({ eb }) =>
      eb(
        'subject',
        'in',
        subjects.map(({ subject }) => subject),
      ),
    )
    .groupBy('subject')
    .execute()
  const exceeded = rows.filter((row) =>
    subjects.some(({ subject, limit }) => subject.equals(row.subject) && row.failures >= limit),
  )
  if (exceeded.length === 0) return
  const seconds = Math.max(1, ...exceeded.map((row) => row.seconds))
  throw new ApiError('too_many_requests', 'Too many failed logins; wait before you try again.', {
    headers: { 'retry-after': String(seconds) },
  })
}

function subjectOf(kind: 'email' | 'address', value: string): Buffer {
  return createHash('sha256').update(`${kind}:${value}`).digest()
}
