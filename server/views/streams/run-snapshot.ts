import { CompiledQuery, type Selectable } from 'kysely'
import { type Database, isoFromPostgres } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import type { ReasonCode, Status, Tables } from '#platform/database/tables.ts'
import type { ActionCursor } from './action-cursor.ts'

// What the stream of one action reads. Streams at the same position, as most are, share what is read.

export type Move = Omit<Selectable<Tables['events']>, 'action_id'>

export type TargetMove = Move & { previous_status: Status; step_order: number | null }

export type TargetSnapshot = {
  id: number
  position: number
  status: Status
  steps: number
  moves: TargetMove[]
  /** Where the logs end, for steps that printed something. */
  logs: { order: number; end: number }[]
}

/**
 * An action at one moment, without what the cursor says was sent. All of it comes from one snapshot of the
 * database: when a target has ended in it, its last move and the end of its logs are in it too.
 */
export type RunSnapshot = {
  environment_id: number
  pipeline_id: number
  status: Status
  status_reason_code: ReasonCode
  events: Move[]
  /** The unfinished ones, by position. */
  targets: TargetSnapshot[]
  /** False: there are more moves than one snapshot holds; the next one has the rest. */
  isComplete: boolean
}

export type LoadSnapshot = ReturnType<typeof createSnapshotLoader>

export function createSnapshotLoader(db: Database) {
  const load = shareLoads((cursors) => loadSnapshots(db, cursors))
  return ({ actionId, eventId, unfinished, open }: ActionCursor): Promise<RunSnapshot | undefined> =>
    load(
      JSON.stringify({
        action_id: actionId,
        event_id: eventId,
        unfinished: `{${unfinished.map(([from, to]) => `[${from},${to}]`).join()}}`,
        moves: Object.fromEntries([...open].map(([position, { moveId }]) => [position, moveId])),
      }),
    )
}

/** Of each kind in one snapshot: what was read and not yet sent waits in memory. */
const MAX_MOVES = 200

const MOVE = `'id', m.id, 'previous_status', m.previous_status, 'status', m.status,
  'status_reason_code', m.status_reason_code, 'occurred_at', m.occurred_at`

const SNAPSHOTS = `
  with wanted as materialized (
    select n, w.* from json_array_elements($1::json) with ordinality as cursor (it, n),
      json_to_record(it) as w (action_id bigint, event_id bigint, unfinished int8multirange, moves json)
  )
  select wanted.n, a.environment_id, a.pipeline_id, a.status, a.status_reason_code,
    (select coalesce(json_agg(json_build_object(${MOVE}) order by m.id), '[]')
      from (select * from events where action_id = a.id and id > event_id order by id limit ${MAX_MOVES}) m) as events,
    (select coalesce(json_agg(json_build_object('id', t.id, 'position', t.position, 'status', t.status,
        'steps', jsonb_array_length(t.steps), 'logs', case when t.started_at is null then '[]' else (
          select coalesce(json_agg(json_build_object('order', (step ->> 'order')::int, 'end', log.ends)), '[]')
          from jsonb_array_elements(t.steps) as step, lateral (
            select start_offset + bytes as ends from step_log_chunks
            where target_id = t.id and step_order = (step ->> 'order')::int order by start_offset desc limit 1) log) end)
        order by t.position), '[]')
      from targets t where t.action_id = a.id and t.position::bigint <@ unfinished) as targets,
    (select coalesce(json_agg(json_build_object('position', m.position, 'step_order', m.step_order, ${MOVE})
        order by m.position, m.id), '[]')
      from (
        select t.position, m.* from targets t, lateral (
          select id, step_order, previous_status, status, status_reason_code, occurred_at from target_moves
          where target_id = t.id and id > coalesce((moves ->> t.position::text)::bigint, 0)
          order by id limit ${MAX_MOVES}) m
        where t.action_id = a.id and t.position::bigint <@ unfinished
        order by t.position, m.id limit ${MAX_MOVES}) m) as target_moves
  from wanted join actions a on a.id = wanted.action_id`

type Row = Omit<RunSnapshot, 'targets' | 'isComplete'> & {
  n: number
  targets: Omit<TargetSnapshot, 'moves'>[]
  target_moves: (TargetMove & { position: number })[]
}

async function loadSnapshots(db: Database, cursors: string[]): Promise<Map<string, RunSnapshot>> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(SNAPSHOTS, [`[${cursors.join()}]`]))
  return new Map(rows.map((row) => [cursors[row.n - 1]!, toSnapshot(row)]))
}

function toSnapshot({ n, events, targets, target_moves, ...action }: Row): RunSnapshot {
  const movesOf = Map.groupBy(target_moves, (move) => move.position)
  return {
    ...action,
    events: events.map(withIsoTime),
    targets: targets.map((target) => ({
      ...target,
      moves: (movesOf.get(target.position) ?? []).map(withIsoTime),
    })),
    isComplete: events.length < MAX_MOVES && target_moves.length < MAX_MOVES,
  }
}

function withIsoTime<Row extends Move>(move: Row): Row {
  return { ...move, occurred_at: isoFromPostgres(move.occurred_at) }
}

/** A piece of a step's log; offsets are in bytes of UTF-8. */
type LogPage = { text: string; start: number; end: number }

export type ReadLogPage = ReturnType<typeof createLogReader>

/** A page ends with the chunk that reaches this, so it is at most one chunk longer; or where something is omitted. */
const PAGE_BYTES = 64 * 1024

const PAGES = `
  select wanted.n, page.*
  from unnest($1::bigint[], $2::int[], $3::bigint[]) with ordinality as wanted (target_id, step_order, after, n),
  lateral (
    select string_agg(text, '' order by start_offset) as text, min(start_offset) as start, max(start_offset + bytes) as "end"
    from (
      select text, bytes, start_offset, sum(bytes) over (order by start_offset) - bytes as before,
        min(start_offset) over () as first
      from (
        select text, bytes, start_offset from step_log_chunks
        where target_id = wanted.target_id and step_order = wanted.step_order and start_offset >= wanted.after
        order by start_offset limit 500) as next
    ) as measured
    where before < ${PAGE_BYTES} and start_offset = first + before
  ) as page
  where page.text is not null`

/** Reads the log of a step from an offset on, one page at a time; undefined at its end. */
export function createLogReader(db: Database) {
  const read = shareLoads(async (positions) => {
    const numbers = positions.map((position) => position.split(' '))
    const columns = [0, 1, 2].map((column) => numbers.map((one) => one[column]!))
    const { rows } = await db.executeQuery<LogPage & { n: number }>(CompiledQuery.raw(PAGES, columns))
    return new Map(rows.map(({ n, ...page }) => [positions[n - 1]!, page]))
  })
  return (targetId: number, stepOrder: number, offset: number): Promise<LogPage | undefined> =>
    read(`${targetId} ${stepOrder} ${offset}`)
}
