import { type Kysely, sql } from 'kysely'

export const toleratedBy = '0.1.0'
export const locks = ['deliveries']

// Due deliveries in the order in which they are claimed: many are due at the same moment after an outage, and sorting
// those took longer than claiming.
export async function up(db: Kysely<unknown>): Promise<void> {
  await sql`drop index deliveries_due`.execute(db)
  await sql`create index deliveries_due on deliveries (hook_id, due_at, event_id) where state = 'pending'`.execute(
    db,
  )
}
