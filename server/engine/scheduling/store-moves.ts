import { sql, type Transaction } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import { recordEvents } from '#model/events/fan-out.ts'
import type { ReasonCode, Status, Tables } from '#platform/database/tables.ts'
import type { LiveAction, LiveTarget } from './live-action.ts'

export type StepMove = { order: number; previous: Status; status: Status; reason: ReasonCode }
export type ActionMove = State & { action: LiveAction; previous: Status }
export type TargetMove = State & { target: LiveTarget; previous: Status; stepMoves: StepMove[] }

/** Writes what actions and targets have become, every single move on the way, and tells whoever watches. */
export async function storeMoves(
  trx: Transaction<Tables>,
  at: string,
  moves: { placed: LiveAction[]; actionMoves: ActionMove[]; targetMoves: TargetMove[] },
): Promise<void> {
  await storeTargets(trx, at, moves.targetMoves)
  await storeActions(trx, at, moves.placed, moves.actionMoves)
  await announceMoves(trx, [
    ...moves.actionMoves.map(({ action }) => action.id),
    ...moves.targetMoves.map(({ target }) => target.actionId),
  ])
}

async function storeTargets(trx: Transaction<Tables>, at: string, moves: TargetMove[]): Promise<void> {
  if (moves.length === 0) return
  const targets = [...new Set(moves.map(({ target }) => target))].map((target) => ({
    id: target.id,
    status: target.status,
    reason: target.reason,
    started_at: target.startedAt,
    completed_at: isEnd(target.status) ? at : null,
    steps: target.steps,
  }))
  await sql`
    update targets set status = moved.status, status_reason_code = moved.reason, started_at = moved.started_at,
      completed_at = moved.completed_at, steps = moved.steps, updated_at = ${at}
    from json_to_recordset(${JSON.stringify(targets)}::json) as moved
      (id bigint, status text, reason text, started_at timestamptz, completed_at timestamptz, steps jsonb)
    where targets.id = moved.id`.execute(trx)
  await storeTargetMoves(
    trx,
    at,
    moves.flatMap(({ target, stepMoves, ...move }) => [
      {
        target_id: target.id,
        step_order: null,
        previous: move.previous,
        status: move.status,
        reason: move.reason,
      },
      ...stepMoves.map(({ order, ...step }) => ({ target_id: target.id, step_order: order, ...step })),
    ]),
  )
}

type TargetMoveRow = { target_id: number; step_order: number | null } & Omit<StepMove, 'order'>

async function storeTargetMoves(trx: Transaction<Tables>, at: string, rows: TargetMoveRow[]): Promise<void> {
  if (rows.length === 0) return
  await sql`
    insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
    select target_id, step_order, previous, status, reason, ${at}
    from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as
      (target_id bigint, step_order int, previous text, status text, reason text)) with ordinality as
      moved (target_id, step_order, previous, status, reason, n)
    order by n`.execute(trx)
}

async function storeActions(
  trx: Transaction<Tables>,
  at: string,
  placed: LiveAction[],
  moves: ActionMove[],
): Promise<void> {
  const changed = [...new Set([...placed, ...moves.map(({ action }) => action)])]
  if (changed.length === 0) return
  const rows = changed.map((action) => ({
    id: action.id,
    status: action.status,
    reason: action.reason,
    has_place: action.hasPlace,
    started_at: action.startedAt,
    completed_at: isEnd(action.status) ? at : null,
  }))
  await sql`
    update actions set status = moved.status, status_reason_code = moved.reason, has_place = moved.has_place,
      started_at = moved.started_at, completed_at = moved.completed_at, updated_at = ${at}
    from json_to_recordset(${JSON.stringify(rows)}::json) as moved
      (id bigint, status text, reason text, has_place boolean, started_at timestamptz, completed_at timestamptz)
    where actions.id = moved.id`.execute(trx)
  await recordEvents(
    trx,
    at,
    moves.map(({ action, previous, status, reason }) => ({
      action_id: action.id,
      pipeline_id: action.pipelineId,
      previous_status: previous,
      status,
      status_reason_code: reason,
      is_final: isEnd(status),
    })),
  )
}

async function announceMoves(trx: Transaction<Tables>, actionIds: readonly number[]): Promise<void> {
  const messages = [...new Set(actionIds)].map((id) => `move ${id}`)
  if (messages.length === 0) return
  await sql`select pg_notify(${ACTIONS_CHANNEL}, message) from unnest(${messages}::text[]) as message`.execute(
    trx,
  )
}
