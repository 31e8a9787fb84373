import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Starters } from './approval-terms.ts'

/**
 * Who started, retried or replayed a run, or one that it repeats or follows; of a chain that a hook began, also who wrote what
 * ships: they may know the hook, and pushed.
 */
export async function loadStarters(
  db: Database,
  actionId: number,
): Promise<Starters & { isByHook: boolean }> {
  const { rows } = await sql<{ userIds: number[]; isByHook: boolean; emails: string[] }>`
    with recursive chain as (
      select id, retry_of, parent_id, triggered_by, hook_id, trigger_type from actions where id = ${actionId}
      union
      select e.id, e.retry_of, e.parent_id, e.triggered_by, e.hook_id, e.trigger_type
      from chain join actions e on e.id = chain.retry_of or e.id = chain.parent_id
    )
    select array(select distinct triggered_by from chain where triggered_by is not null) as "userIds",
      exists (select from chain where hook_id is not null or trigger_type = 'hook') as "isByHook",
      coalesce((select author_emails from approval_requests where action_id = ${actionId}), '{}') as emails`.execute(
    db,
  )
  const { userIds, isByHook, emails } = rows[0]!
  return { userIds, isByHook, emails: isByHook ? emails : [] }
}

/** Those of these runs whose chain a hook began. */
export async function findByHook(db: Database, actionIds: readonly number[]): Promise<Set<number>> {
  const { rows } = await sql<{ id: number }>`
    with recursive chain as (
      select id as run, id, retry_of, parent_id, hook_id, trigger_type from actions where id = any(${actionIds}::bigint[])
      union
      select chain.run, e.id, e.retry_of, e.parent_id, e.hook_id, e.trigger_type
      from chain join actions e on e.id = chain.retry_of or e.id = chain.parent_id
    )
    select distinct run as id from chain where hook_id is not null or trigger_type = 'hook'`.execute(db)
  return new Set(rows.map(({ id }) => id))
}
