import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = []

// When the newest backup was made, for the alert and the diagnostic check. No row: none was recorded.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`create table newest_backup (
    only_row boolean primary key default true check (only_row),
    made_at timestamptz(3) not null
  )`.execute(db)
}
