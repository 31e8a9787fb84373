import { type Actor, recordAccount } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import type { Database } from '#platform/database/connect.ts'
import { findRow, NOW, rowVersion } from '#platform/database/rows.ts'
import { isOutdated } from '#platform/http/if-match.ts'
import { CHANGED_MEANWHILE, conflict, type HttpProblem } from '#platform/http/problems.ts'
import { commitAttempt, comparePassword, type PasswordOutcome } from './login.ts'
import { revokeSessions } from './manage-sessions.ts'
import { type User, userColumns } from './user-schema.ts'

/** With the version that `If-Match` refers to. */
export async function readProfile(db: Database, id: number): Promise<{ user: User; version: string }> {
  const { row_version, ...user } = await db
    .selectFrom('users')
    .select(userColumns)
    .select(rowVersion('users'))
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return { user, version: row_version }
}

/** What is not given stays; without a difference nothing is stored. */
export async function changeProfile(
  db: Database,
  { id }: { id: number },
  input: { name?: string; language?: string },
  actor: Actor,
  ifMatch?: string,
) {
  return db.transaction().execute(async (trx) => {
    await trx.selectFrom('users').select('id').where('id', '=', id).forNoKeyUpdate().execute()
    const stored = await readProfile(trx, id)
    if (isOutdated(ifMatch, stored.version)) return CHANGED_MEANWHILE
    const { user: before } = stored
    const { name = before.name, language = before.language } = input
    if (name === before.name && language === before.language) return { kind: 'done' as const, ...stored }
    await trx.updateTable('users').set({ name, language, updated_at: NOW }).where('id', '=', id).execute()
    const changed = await readProfile(trx, id)
    const after = changed.user
    const shown = ({ name, language }: User) => ({ name, language })
    await recordAccount(trx, actor, 'changed', after, { before: shown(before), after: shown(after) })
    return { kind: 'done' as const, ...changed }
  })
}

/**
 * Ends all other sessions of the caller: an attacker who knew the old password may have opened one. A reset link stays
 * valid: otherwise that attacker could void it, and keep the account.
 */
export async function changePassword(
  db: Database,
  caller: Caller,
  input: { current_password: string; new_password: string },
  actor: Actor,
): Promise<PasswordOutcome<void> | HttpProblem> {
  const { id, email, token } = caller
  const account = await findRow(db, 'users', { id }, ['password_hash'])
  if (!account?.password_hash)
    return conflict('This account has no password: ask an instance administrator for a password reset.')
  const attempt = { email, password: input.current_password, actor }
  const compared = await comparePassword(db, attempt)
  if (compared.kind === 'throttled') return compared
  // Before anything is locked, and always: it is slow on purpose, and its time must not tell that the old one matched.
  const password_hash = await hashPassword(input.new_password)
  return commitAttempt(db, compared, async (trx) => {
    await trx.updateTable('users').set({ password_hash, updated_at: NOW }).where('id', '=', id).execute()
    const ended_sessions = await revokeSessions(trx, id, token.family)
    await recordAccount(trx, actor, 'password_changed', caller, { after: { ended_sessions } })
  })
}
