import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

const AT_ONCE = 1_000

/** Takes bodies off records that are old enough, and forgets claims and counts that no longer matter; run by a job. */
export async function pruneCalls(db: Database, keepBodiesDays: number): Promise<void> {
  for (;;) {
    const { numAffectedRows } = await sql`
      update hook_requests set request_body = null, request_headers = null, response_body = null, response_headers = null
      where id in (
        select id from hook_requests
        where num_nonnulls(request_body, request_headers, response_body, response_headers) > 0 and created_at < now() - ${keepBodiesDays}::int * interval '1 day'
        limit ${AT_ONCE})`.execute(db)
    if ((numAffectedRows ?? 0n) < BigInt(AT_ONCE)) break
  }
  await sql`delete from delivery_claims where claimed_at < now() - interval '24 hours'`.execute(db)
  await sql`delete from refused_calls where hour < now() - ${keepBodiesDays}::int * interval '1 day'`.execute(
    db,
  )
}
