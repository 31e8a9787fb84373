import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { CLAIM_TTL } from './insert-calls.ts'

/** Removes expired idempotency keys, full buckets, counts of rejected calls and what was caught up with long ago; run by a job. Bodies: see ops/retention. */
export async function pruneCalls(db: Database, keepCountsDays: number): Promise<void> {
  await sql`delete from delivery_claims where claimed_at < now() - ${sql.raw(CLAIM_TTL)}`.execute(db)
  await sql`delete from catch_ups where created_at < now() - interval '30 days'`.execute(db)
  // A bucket that nobody used for a day is full.
  await sql`delete from hook_tokens where filled_at < now() - interval '1 day'`.execute(db)
  await sql`delete from refused_calls where hour < now() - ${keepCountsDays}::int * interval '1 day'`.execute(
    db,
  )
}
