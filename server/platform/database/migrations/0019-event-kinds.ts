import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'

// What a delivery reported: the kind of its event, or `test` for a request that a user asked for.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`alter table hook_requests add column event_kind text`.execute(db)
}
