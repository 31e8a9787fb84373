import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'
import { conflict, GONE, type HttpProblem, REMOVED } from '#platform/http/problems.ts'
import type { Person } from './person.ts'

export type Subject = Pick<Person, 'issuer' | 'subject'>

export function listIdentities(db: Database, userId: number) {
  return db
    .selectFrom('identities')
    .select(['id', 'issuer', 'created_at', 'last_used_at'])
    .where('user_id', '=', userId)
    .orderBy('id', 'desc')
    .execute()
}

/** The account that an identity is linked to. Locks the identity: it cannot be unlinked until the sign-in is stored. */
export async function touchIdentity(trx: Transaction, { issuer, subject }: Subject) {
  const used = await trx
    .updateTable('identities')
    .set({ last_used_at: NOW })
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .returning('user_id')
    .executeTakeFirst()
  if (!used) return undefined
  return findRow(trx, 'users', { id: used.user_id }, ['id', 'email', 'active'])
}

type Account = { id: number; email: string }

/** False when the identity is linked already. */
export async function linkIdentity(
  trx: Transaction,
  { ipAddress, requestId }: Omit<Actor, 'userId'>,
  account: Account,
  { issuer, subject }: Subject,
): Promise<boolean> {
  const row = await trx
    .insertInto('identities')
    .values({ user_id: account.id, issuer, subject, last_used_at: NOW })
    .onConflict((target) => target.columns(['issuer', 'subject']).doNothing())
    .returning('id')
    .executeTakeFirst()
  if (!row) return false
  const actor = { userId: account.id, ipAddress, requestId }
  await recordAccount(trx, actor, 'identity_linked', account, { after: { identity_id: row.id, issuer } })
  return true
}

export async function isLinkedTo(trx: Transaction, userId: number, { issuer, subject }: Subject) {
  const row = await findRow(trx, 'identities', { user_id: userId, issuer, subject }, ['id'])
  return row !== undefined
}

/** Not the last way to sign in. `isUsable`: identities of this issuer can sign in now. */
export async function unlinkIdentity(
  trx: Transaction,
  actor: Actor,
  { userId, id }: { userId: number; id: number },
  { passwordLogin, isUsable }: { passwordLogin: boolean; isUsable: (issuer: string) => boolean },
): Promise<typeof REMOVED | HttpProblem> {
  // One at a time: two that are unlinked at once would each be the other's way to sign in. Not a lock on the account,
  // which changes of members take after the one on their organization.
  await sql`select pg_advisory_xact_lock(hashtextextended('identities ' || ${userId}::text, 0))`.execute(trx)
  const identities = await listIdentities(trx, userId)
  const identity = identities.find((one) => one.id === id)
  if (!identity) return GONE
  const account = (await findRow(trx, 'users', { id: userId }, ['id', 'email', 'password_hash']))!
  const hasPassword = passwordLogin && account.password_hash !== null
  const hasOther = identities.some((one) => one !== identity && isUsable(one.issuer))
  if (!hasPassword && !hasOther)
    return conflict('This is your only way to sign in: link another identity or set a password first.')
  await trx.deleteFrom('identities').where('id', '=', id).execute()
  const before = { identity_id: id, issuer: identity.issuer }
  await recordAccount(trx, actor, 'identity_unlinked', account, { before })
  return REMOVED
}
