import { sql, type Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'

/** For an unlimited pipeline or server: how many are let through at a time. More follow in the next look. */
const AT_ONCE = 500

/** The actions that come next on each of these pipelines, first come first served, as far as there is room. */
export async function nextActions(
  trx: Transaction<Tables>,
  pipelineIds: readonly number[],
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select next.id
    from pipelines p
    cross join lateral (
      select case p.max_parallel_actions when 0 then ${AT_ONCE}
        else p.max_parallel_actions - (select count(*) from actions where pipeline_id = p.id and has_place) end as free
    ) as room
    cross join lateral (
      (select id from actions
        where pipeline_id = p.id and status = 'waiting' and not has_place order by id limit greatest(free, 0))
      union all
      (select id from actions
        where pipeline_id = p.id and status = 'queued' and not has_place order by id limit greatest(free, 0))
      order by id limit greatest(free, 0)
    ) as next
    where p.id = any(${pipelineIds}::bigint[])`.execute(trx)
  return rows.map((row) => row.id)
}

export type ServerRoom = { id: number; free: number; waiting: { targetId: number; actionId: number }[] }

/** How much room these servers have, and who waits for it. */
export async function serverRooms(
  trx: Transaction<Tables>,
  serverIds: readonly number[],
): Promise<ServerRoom[]> {
  const { rows } = await sql<ServerRoom>`
    select s.id, room.free, coalesce((
      select json_agg(json_build_object('targetId', next.id, 'actionId', next.action_id))
      from (select id, action_id from targets where server_id = s.id and status = 'waiting'
        order by action_id limit room.free) as next), '[]') as waiting
    from servers s
    cross join lateral (
      select greatest(0, case s.max_parallel_actions when 0 then ${AT_ONCE} else s.max_parallel_actions -
        (select count(*) from targets where server_id = s.id and status in ('queued', 'in-progress')) end) as free
    ) as room
    where s.id = any(${serverIds}::bigint[])`.execute(trx)
  return rows
}
