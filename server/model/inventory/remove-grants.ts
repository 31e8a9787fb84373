import { sql } from 'kysely'
import { anyOf } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'

/** Roles in scopes that are being removed: those that people hold, and those that pending invitations offer. */
export async function removeGrants(
  trx: Transaction,
  column: 'organization_id' | 'project_id' | 'environment_id',
  ids: readonly number[],
): Promise<void> {
  await trx.deleteFrom('grants').where(anyOf(column, ids)).execute()
  const offered = await trx
    .deleteFrom('invitation_grants')
    .where(anyOf(column, ids))
    .returning('invitation_id')
    .execute()
  const invitations = [...new Set(offered.map((row) => row.invitation_id))]
  await trx
    .deleteFrom('invitations')
    .where(anyOf('id', invitations))
    .where(sql<boolean>`not exists (select from invitation_grants g where g.invitation_id = invitations.id)`)
    .execute()
}
