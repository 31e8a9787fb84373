import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

/**
 * Records that actions have used credentials; `uses` is a relation with the columns `credential_id` and `action_id`.
 * In the order of the credentials, so that two of these never wait for each other. Written once per action: uses that
 * are known, or older, change nothing.
 */
export const recordUsesOf = (uses: string) => `
  insert into credential_uses (credential_id, action_id)
  select credential_id, max(action_id) from ${uses}
  where exists (select from credentials c where c.id = credential_id)
    and not exists (select from credential_uses known
      where known.credential_id = ${uses}.credential_id and known.action_id >= ${uses}.action_id)
  group by credential_id order by credential_id
  on conflict (credential_id) do update set action_id = excluded.action_id
    where credential_uses.action_id < excluded.action_id`

export async function recordUse(db: Database, credentialId: number, actionId: number): Promise<void> {
  await sql`
    with uses as (select ${credentialId}::bigint as credential_id, ${actionId}::bigint as action_id)
    ${sql.raw(recordUsesOf('uses'))}`.execute(db)
}

/** For a connection or a delivery. */
export function newestRecordedUseOf(credentialId: RawBuilder<unknown>): RawBuilder<number | null> {
  return sql`(select used.action_id from credential_uses used where used.credential_id = ${credentialId})`
}
