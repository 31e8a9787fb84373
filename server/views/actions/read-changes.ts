import { sql } from 'kysely'
import { loadChanges } from '#model/actions/changes.ts'
import type { ActionChanges } from '#model/actions/changes-schemas.ts'
import { type ChangesTarget, presentChanges } from '#model/actions/present-changes.ts'
import type { Database } from '#platform/database/connect.ts'

/** Undefined when there is no such action. */
export async function readChanges(db: Database, actionId: number): Promise<ActionChanges | undefined> {
  const { rows } = await sql<{ isDeploy: boolean; commitSha: string | null; targets: ChangesTarget[] }>`
    select deployment is not null as "isDeploy", commit ->> 'hash' as "commitSha",
      (select coalesce(json_agg(json_build_object('serverId', s.id, 'serverName', s.name,
          'hasEnded', t.status in ('completed', 'failed', 'skipped'),
          'hasFetched', jsonb_path_exists(t.steps, '$[*] ? (@.name == "get-new-release" && @.status == "completed")')
        ) order by t.id), '[]')
        from targets t join servers s on s.id = t.server_id where t.action_id = a.id) as targets
    from actions a where id = ${actionId}`.execute(db)
  const action = rows[0]
  if (!action) return undefined
  const { targets, ...subject } = action
  return presentChanges({ id: actionId, ...subject }, targets, await loadChanges(db, actionId))
}
