import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Requests } from './claim-due.ts'

/** A run that waits for checks or approval. */
export type Waiting = {
  actionId: number
  environmentId: number
  applicationId: number | null
  isDeploy: boolean
  isRollback: boolean
  /** What a deploy ships: a branch, a tag or a commit. */
  source: { type: string | null; ref: string | null }
  /** Found before. */
  commit: string | null
  /** Since when it waits, and now: both by the clock of the database. */
  askedAt: string
  now: string
  /** Those that have not started. */
  targets: { id: number; attempt: number; serverId: number }[]
}

/** Those of these runs that still wait; newest first. */
export async function findWaiting(
  db: Database,
  requests: Requests,
  actionIds: readonly number[],
): Promise<Waiting[]> {
  const { rows } = await sql<Omit<Waiting, 'targets'> & { targets: Waiting['targets'] | null }>`
    select a.id as "actionId", a.environment_id as "environmentId", p.application_id as "applicationId",
      a.type = 'deploy' as "isDeploy", coalesce(a.deployment ->> 'type' = 'rollback', false) as "isRollback",
      json_build_object('type', a.deployment ->> 'source_type', 'ref', a.deployment ->> 'source_ref') as source,
      a.commit ->> 'hash' as commit, r.created_at as "askedAt", clock_timestamp()::timestamptz(3) as now, (
        select json_agg(json_build_object('id', t.id, 'attempt', t.attempt, 'serverId', t.server_id) order by t.position)
        from targets t where t.action_id = a.id and t.started_at is null and t.completed_at is null) as targets
    from actions a join pipelines p on p.id = a.pipeline_id join ${sql.table(requests)} r on r.action_id = a.id
    where a.id = any(${actionIds}::bigint[]) and a.completed_at is null order by a.id desc`.execute(db)
  return rows.flatMap(({ targets, ...run }) => (targets ? { ...run, targets } : []))
}

export const serversOf = ({ targets }: Waiting): number[] => targets.map(({ serverId }) => serverId)
