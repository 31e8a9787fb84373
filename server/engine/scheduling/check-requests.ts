import { sql } from 'kysely'
import { CHECKS_TIMEOUT } from '#model/gates/checks-sql.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Database } from '#platform/database/connect.ts'

// Runs that wait for checks have a row of their own, from which workers know what to find out.

const EXPIRES_AT = sql`clock_timestamp() + ${CHECKS_TIMEOUT} * interval '1 minute'`

/** From now on these runs wait for their checks, also those that had passed the gate before. */
export async function requestChecks(db: Database, actionIds: readonly number[]): Promise<void> {
  if (actionIds.length === 0) return
  await sql`
    insert into check_requests (action_id, environment_id, pipeline_id, expires_at)
    select a.id, a.environment_id, a.pipeline_id, ${EXPIRES_AT} from actions a
    where a.id = any(${actionIds}::bigint[]) order by a.id
    on conflict (action_id) do update set due_at = clock_timestamp(), since = clock_timestamp(),
      expires_at = excluded.expires_at, passed_at = null, result = null, problem = null`.execute(db)
}

/** Of those at the gate that have none yet: calls insert runs there. */
export async function requestMissingChecks(
  db: Database,
  actionIds: readonly number[] | 'missing',
): Promise<void> {
  const which =
    actionIds === 'missing'
      ? sql`a.updated_at < now() - interval '20 seconds'`
      : sql`a.id = ${anyId(actionIds)}`
  await sql`
    insert into check_requests (action_id, environment_id, pipeline_id, expires_at)
    select a.id, a.environment_id, a.pipeline_id, ${EXPIRES_AT} from actions a
    where a.gate = 'checks' and ${which} and not exists (select from check_requests r where r.action_id = a.id)
    order by a.id on conflict (action_id) do nothing`.execute(db)
}
