import { type Kysely, sql } from 'kysely'
import type pg from 'pg'
import type { Tables } from './tables.ts'

/** A backup a day, and two hours for one that starts late or takes long. */
export const BACKUP_OLD_AFTER_HOURS = 26

/** False when it cannot be recorded here: on a standby, or in a schema of an earlier release. */
export async function recordBackup(client: pg.ClientBase, madeAt: string): Promise<boolean> {
  const { rows } = await client.query<{ can_record: boolean }>(
    `select to_regclass('public.newest_backup') is not null and not pg_is_in_recovery()
       and current_setting('transaction_read_only') = 'off' as can_record`,
  )
  if (!rows[0]!.can_record) return false
  await client.query(
    `insert into public.newest_backup (made_at) values ($1)
     on conflict (only_row) do update set made_at = greatest(newest_backup.made_at, excluded.made_at)`,
    [madeAt],
  )
  return true
}

/** Null when none was recorded. */
export async function readNewestBackup(db: Kysely<Tables>) {
  const { rows } = await sql<{ made_at: string; age_seconds: number }>`
    select made_at, extract(epoch from now() - made_at)::float8 as age_seconds from newest_backup`.execute(db)
  return rows[0] ?? null
}
