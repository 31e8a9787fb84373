import { sql } from 'kysely'
import { type Actor, recordAccount } from '#access/audit/record.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { NOW } from '#platform/database/rows.ts'
import type { Page } from '#platform/http/pagination.ts'
import { conflict, GONE } from '#platform/http/problems.ts'
import { readPage } from '#platform/http/read-page.ts'
import { lockUser, revokeSessions } from './manage-sessions.ts'
import { userColumns } from './user-schema.ts'

/** Every account of the instance, newest first. */
export async function listUsers(
  db: Database,
  { email, active }: { email?: string; active?: boolean },
  page: Page,
) {
  let query = selectAccounts(db)
  if (email !== undefined)
    query = query.where(sql<boolean>`strpos(lower(users.email), lower(${email}::text)) > 0`)
  if (active !== undefined) query = query.where('users.active', '=', active)
  return readPage(query, 'users', page)
}

function selectAccounts(db: Database) {
  return db
    .selectFrom('users')
    .select(userColumns)
    .select('is_instance_admin')
    .select(
      sql<string | null>`(select max(signed_in_at) from sign_in_networks n where n.user_id = users.id)`.as(
        'last_sign_in_at',
      ),
    )
}

/**
 * A deactivated user is out at once: their sessions end, and their personal access tokens and links are rejected until
 * the account is activated again. One instance administrator must remain.
 */
export async function setUserActive(db: Database, id: number, active: boolean, actor: Actor) {
  return db.transaction().execute(async (trx) => {
    if (!active) await lockAdministrators(trx)
    const user = await lockUser(trx, id)
    if (!user) return GONE
    if (user.active === active) return { kind: 'done' as const, user: await findAccount(trx, id) }
    if (!active && user.is_instance_admin && !(await hasOtherAdministrator(trx, id)))
      return conflict('One instance administrator must remain active.')
    await trx.updateTable('users').set({ active, updated_at: NOW }).where('id', '=', id).execute()
    if (!active) {
      await revokeSessions(trx, id)
      await trx.deleteFrom('password_resets').where('user_id', '=', id).execute()
    }
    const verb = active ? 'activated' : 'deactivated'
    await recordAccount(trx, actor, verb, user, { before: { active: user.active }, after: { active } })
    return { kind: 'done' as const, user: await findAccount(trx, id) }
  })
}

function findAccount(trx: Transaction, id: number) {
  return selectAccounts(trx).where('users.id', '=', id).executeTakeFirstOrThrow()
}

/** Two administrators who deactivate each other at once do so one after the other. */
async function lockAdministrators(trx: Transaction): Promise<void> {
  await sql`select pg_advisory_xact_lock(hashtextextended('instance administrators', 0))`.execute(trx)
}

async function hasOtherAdministrator(trx: Transaction, id: number): Promise<boolean> {
  const other = await trx
    .selectFrom('users')
    .select('id')
    .where('is_instance_admin', '=', true)
    .where('active', '=', true)
    .where('id', '<>', id)
    .limit(1)
    .executeTakeFirst()
  return other !== undefined
}
