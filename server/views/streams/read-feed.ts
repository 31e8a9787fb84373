import { type Selectable, sql } from 'kysely'
import type { ActionRow } from '#model/actions/present.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import { GAP_EXPIRY_MS, type Unseen } from './feed-cursor.ts'
import { NO_END, type Ranges } from './ranges.ts'

/** A move of an action, with what decides who may see it and which filters it matches. */
export type ActionMove = Selectable<Tables['events']> &
  Pick<ActionRow, 'environment_id' | 'pipeline_id' | 'type' | 'trigger_type' | 'hook_id' | 'created_at'> & {
    user_id: number | null
    resource_type: string
    resource_id: number
  }

/** The moves with ids in these ranges, lowest id first. */
export async function readMoves(db: Database, ranges: Ranges, limit: number): Promise<ActionMove[]> {
  if (ranges.length === 0) return []
  const [from, to] = [ranges.map((range) => range[0]), ranges.map((range) => range[1])]
  const { rows } = await sql<ActionMove>`
    select e.*, a.environment_id, a.pipeline_id, a.type, a.trigger_type, a.hook_id, a.created_at,
      a.triggered_by as user_id, p.resource_type, coalesce(p.application_id, p.server_id) as resource_id
    from (
      select e.* from unnest(${from}::bigint[], ${to}::bigint[]) as range (low, high), lateral (
        select * from events where id between low and high order by id limit ${limit}::int) e
      order by e.id limit ${limit}::int
    ) e
    join actions a on a.id = e.action_id
    join pipelines p on p.id = a.pipeline_id
    order by e.id`.execute(db)
  return rows
}

/**
 * The current position in the feed: all stored events count as seen, all others do not. Ids that are missing among
 * the stored ones may still appear, until one above them is old: it was taken after them, by a transaction that
 * ended long ago, and so did theirs.
 */
export async function currentPosition(db: Database): Promise<Unseen> {
  const { rows } = await sql<{ last: number; from: number[] | null; to: number[] | null }>`
    with expired as (
      select coalesce((
        select id from events where occurred_at < now() - 2 * ${GAP_EXPIRY_MS}::int * interval '1 ms'
        order by id desc limit 1), 0) as id
    ), recent as (
      select events.id, lag(events.id, 1, expired.id) over (order by events.id) as previous
      from events, expired where events.id > expired.id
    )
    select coalesce(max(id), (select id from expired)) as last,
      array_agg(previous + 1 order by id) filter (where id > previous + 1) as from,
      array_agg(id - 1 order by id) filter (where id > previous + 1) as to
    from recent`.execute(db)
  const { last, from, to } = rows[0]!
  return [...(from ?? []).map((low, index) => [low, to![index]!] as const), [last + 1, NO_END]]
}

/** No event has an id above this one. */
export async function highestId(db: Database): Promise<number> {
  const { rows } = await sql<{ id: number }>`select coalesce(pg_sequence_last_value(
    pg_get_serial_sequence('events', 'id')::regclass), 0) as id`.execute(db)
  return rows[0]!.id
}
