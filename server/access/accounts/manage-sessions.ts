import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { findRow, NOW } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { readPage } from '#platform/http/read-page.ts'
import { revokePersonalToken } from './personal-tokens.ts'
import { revokeSession } from './sessions.ts'

type Token = Caller['token']

/** When the last token of a session expires; null once all are expired or revoked. */
const expiry = sql<string | null>`(
  select max(t.expires_at) from tokens t
  where t.family = sessions.family and t.revoked_at is null and t.expires_at > now())`

/** The sessions of a user that are still valid, newest first. */
export async function listSessions(db: Database, userId: number, { family }: Token, page: Page) {
  const query = db
    .selectFrom('sessions')
    .select([
      'id',
      'kind',
      sql<boolean>`family = ${family}::uuid is true`.as('current'),
      'ip_address',
      'user_agent',
      'created_at',
      'last_used_at',
      sql<string>`${expiry}`.as('expires_at'),
    ])
    .where('user_id', '=', userId)
    .where(sql<boolean>`${expiry} is not null`)
  return readPage(query, 'sessions', page)
}

/** Undefined when the user has no such session. */
export async function endSession(db: Database, caller: Caller, id: number, actor: Actor) {
  return db.transaction().execute(async (trx) => {
    const session = await trx
      .selectFrom('sessions')
      .select('family')
      .where('id', '=', id)
      .where('user_id', '=', caller.id)
      .where(sql<boolean>`${expiry} is not null`)
      .executeTakeFirst()
    if (!session) return undefined
    await revokeSession(trx, { userId: caller.id, family: session.family })
    await recordAccount(trx, actor, 'session_ended', caller, { after: { session_id: id } })
    return { wasCurrent: session.family === caller.token.family }
  })
}

/** Ends all sessions of the caller, the current one included; personal access tokens stay. */
export async function endAllSessions(db: Database, caller: Caller, actor: Actor): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await lockUser(trx, caller.id)
    const sessions = await revokeSessions(trx, caller.id)
    await recordAccount(trx, actor, 'session_ended', caller, { after: { sessions } })
  })
}

/** Ends the session that a token belongs to; a personal token is revoked alone. */
export async function signOut(db: Database, caller: Caller, actor: Actor): Promise<void> {
  const { id, family } = caller.token
  await db.transaction().execute(async (trx) => {
    if (family !== null) {
      await revokeSession(trx, { userId: caller.id, family })
      await recordAccount(trx, actor, 'signed_out', caller)
      return
    }
    await revokePersonalToken(trx, caller.id, actor, id)
  })
}

/** Before everything of a user is revoked: nobody signs in or refreshes a token meanwhile. */
export async function lockUser(trx: Transaction, userId: number) {
  const columns = ['id', 'email', 'active', 'is_instance_admin', 'password_hash'] as const
  return findRow(trx, 'users', { id: userId }, columns, 'for no key update')
}

/** Revokes the tokens of all sessions but one; returns how many sessions ended. The user must be locked. */
export async function revokeSessions(trx: Transaction, userId: number, except: string | null = null) {
  const rows = await trx
    .updateTable('tokens')
    .set({ revoked_at: NOW })
    .where('user_id', '=', userId)
    .where('kind', '<>', 'personal')
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', NOW)
    .where(sql<boolean>`family is distinct from ${except}::uuid`)
    .returning('family')
    .execute()
  return new Set(rows.map((row) => row.family)).size
}
