import { sql } from 'kysely'
import type { ChecksEvent } from '#model/connections/checks-event.ts'
import type { Database } from '#platform/database/connect.ts'

/**
 * Runs that wait for the checks of this commit, in the repository that the hook is connected to: its host is asked next, though
 * no more often than otherwise. What the call says about the checks does not count.
 */
export async function wakeChecks(
  db: Database,
  hookId: string,
  { repository, commit }: ChecksEvent,
): Promise<void> {
  if (repository === null || commit === null) return
  await sql`
    update commit_checks set due_at = clock_timestamp() from hook_connections c
    where c.hook_id = ${hookId} and lower(c.repository) = lower(${repository}) and commit_checks.commit = ${commit}
      and commit_checks.api_url = c.api_url and commit_checks.repository = c.repository
      and commit_checks.due_at > clock_timestamp() and commit_checks.problem is null`.execute(db)
}
