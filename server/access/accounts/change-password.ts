import { type Actor, recordAudit } from '#access/audit/record.ts'
import type { Caller } from '#access/authorization/caller.ts'
import { hashPassword } from '#platform/crypto/passwords.ts'
import type { Database } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { commitAttempt, comparePassword, type PasswordOutcome } from './login.ts'
import { revokeSessions } from './manage-sessions.ts'

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
  const account = await db.selectFrom('users').select('password_hash').where('id', '=', id).executeTakeFirst()
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
    await recordAudit(trx, actor, {
      organizationId: null,
      verb: 'password_changed',
      subject: { type: 'user', id, name: email },
      before: null,
      after: { ended_sessions },
    })
  })
}
