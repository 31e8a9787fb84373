import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { CLAIM_TTL } from './insert-calls.ts'

const BATCH_SIZE = 1_000

/** Removes bodies and headers from old records, and expired idempotency keys and counts; run by a job. */
export async function pruneCalls(db: Database, keepBodiesDays: number): Promise<void> {
  for (;;) {
    const { numAffectedRows } = await sql`
      update hook_requests set request_body = null, request_headers = null, response_body = null, response_headers = null
      where id in (
        select id from hook_requests
        where num_nonnulls(request_body, request_headers, response_body, response_headers) > 0 and created_at < now() - ${keepBodiesDays}::int * interval '1 day'
        limit ${BATCH_SIZE})`.execute(db)
    if ((numAffectedRows ?? 0n) < BigInt(BATCH_SIZE)) break
  }
  await sql`delete from delivery_claims where claimed_at < now() - ${sql.raw(CLAIM_TTL)}`.execute(db)
  await sql`delete from refused_calls where hour < now() - ${keepBodiesDays}::int * interval '1 day'`.execute(
    db,
  )
}
