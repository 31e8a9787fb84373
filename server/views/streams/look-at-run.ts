import { CompiledQuery } from 'kysely'
import { type Database, isoFromPostgres } from '#platform/database/connect.ts'
import { shareLoads } from '#platform/database/share-loads.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import type { Progress } from './progress.ts'

/**
 * An action at one moment, as far as a stream has not told of it yet. All of it is of one snapshot of the
 * database: where a target has ended here, its last move and the end of its logs are here too.
 */
export type Look = {
  environment_id: number
  pipeline_id: number
  status: Status
  status_reason_code: ReasonCode
  events: (Move & { previous_status: Status | null })[]
  /** The undone ones, in the order of their positions. */
  targets: LookedAtTarget[]
  /** False: there are more moves than one look takes; the next look finds the rest. */
  isWhole: boolean
}

export type Move = {
  id: number
  previous_status: Status | null
  status: Status
  status_reason_code: ReasonCode
  occurred_at: string
}

export type TargetMove = Move & { previous_status: Status; step_order: number | null }

export type LookedAtTarget = {
  id: number
  position: number
  status: Status
  steps: number
  moves: TargetMove[]
  /** Where the logs end, for steps that have printed something. */
  logs: { order: number; end: number }[]
}

export type LookAtRun = (progress: Progress) => Promise<Look | undefined>

/** Streams that stand at the same place, as those that follow live do, share what is read. */
export function createLooks(db: Database): LookAtRun {
  const look = shareLoads((questions) => loadLooks(db, questions))
  return ({ actionId, eventId, undone, open }) =>
    look(
      JSON.stringify({
        action_id: actionId,
        event_id: eventId,
        undone: `{${undone.map(([from, to]) => `[${from},${to}]`).join()}}`,
        moves: Object.fromEntries([...open].map(([position, { moveId }]) => [position, moveId])),
      }),
    )
}

/** Of each kind in one look: what is read and not yet taken by the receiver waits in memory. */
const MOST_MOVES = 200

const MOVE = `'id', m.id, 'previous_status', m.previous_status, 'status', m.status,
  'status_reason_code', m.status_reason_code, 'occurred_at', m.occurred_at`

const LOOKS = `
  with wanted as materialized (
    select n, w.* from json_array_elements($1::json) with ordinality as question (it, n),
      json_to_record(it) as w (action_id bigint, event_id bigint, undone int8multirange, moves json)
  )
  select wanted.n, a.environment_id, a.pipeline_id, a.status, a.status_reason_code,
    (select json_agg(json_build_object(${MOVE}) order by m.id)
      from (select * from events where action_id = a.id and id > event_id order by id limit ${MOST_MOVES}) m) as events,
    (select json_agg(json_build_object('id', t.id, 'position', t.position, 'status', t.status,
        'steps', jsonb_array_length(t.steps), 'logs', case when t.started_at is null then null else (
          select json_agg(json_build_object('order', step ->> 'order', 'end', log.ends))
          from jsonb_array_elements(t.steps) as step, lateral (
            select start_offset + bytes as ends from step_log_chunks
            where target_id = t.id and step_order = (step ->> 'order')::int order by start_offset desc limit 1) log) end)
        order by t.position)
      from targets t where t.action_id = a.id and t.position::bigint <@ undone) as targets,
    (select json_agg(json_build_object('position', m.position, 'step_order', m.step_order, ${MOVE}) order by m.position, m.id)
      from (
        select t.position, m.* from targets t, lateral (
          select id, step_order, previous_status, status, status_reason_code, occurred_at from target_moves
          where target_id = t.id and id > coalesce((moves ->> t.position::text)::bigint, 0)
          order by id limit ${MOST_MOVES}) m
        where t.action_id = a.id and t.position::bigint <@ undone
        order by t.position, m.id limit ${MOST_MOVES}) m) as target_moves
  from wanted join actions a on a.id = wanted.action_id`

type Row = Omit<Look, 'events' | 'targets' | 'isWhole'> & {
  n: number
  events: Look['events'] | null
  targets:
    | (Omit<LookedAtTarget, 'moves' | 'logs'> & { logs: { order: string; end: number }[] | null })[]
    | null
  target_moves: (TargetMove & { position: number })[] | null
}

async function loadLooks(db: Database, questions: string[]): Promise<Map<string, Look>> {
  const { rows } = await db.executeQuery<Row>(CompiledQuery.raw(LOOKS, [`[${questions.join()}]`]))
  return new Map(rows.map((row) => [questions[row.n - 1]!, toLook(row)]))
}

function toLook({ n, events, targets, target_moves, ...action }: Row): Look {
  const movesOf = Map.groupBy(target_moves ?? [], (move) => move.position)
  return {
    ...action,
    events: (events ?? []).map(withIsoTime),
    targets: (targets ?? []).map((target) => ({
      ...target,
      moves: (movesOf.get(target.position) ?? []).map(withIsoTime),
      logs: (target.logs ?? []).map(({ order, end }) => ({ order: Number(order), end })),
    })),
    isWhole: (events ?? []).length < MOST_MOVES && (target_moves ?? []).length < MOST_MOVES,
  }
}

function withIsoTime<Row extends Move>(move: Row): Row {
  return { ...move, occurred_at: isoFromPostgres(move.occurred_at) }
}
