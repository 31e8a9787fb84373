import { type RawBuilder, sql } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import {
  isEnd,
  type State,
  WAITING_FOR_APPROVAL,
  WAITING_FOR_CHECKS,
  WAITING_FOR_PIPELINE,
} from '#model/actions/status.ts'
import { recordEvents } from '#model/events/fan-out.ts'
import { recordResults } from '#model/live/deployments.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status, StoredStep } from '#platform/database/tables.ts'
import { type GateEvent, gateOf } from '#platform/vocabulary.ts'
import { noteActions, noteTargets, noteWaiting } from './committed-moves.ts'
import { CLOSED_EARLY_GATE, type EarlyGate, WAITING_AT } from './early-gates.ts'
import type { ScheduledAction, ScheduledTarget } from './scheduled-action.ts'
import type { StepMove } from './states.ts'

/** What has changed in a pass, in order. `slotted` actions have acquired a slot on their pipeline. */
export type Moves = {
  slotted: ScheduledAction[]
  actions: (State & { action: ScheduledAction; previous: Status; gateEvent: GateEvent | null })[]
  /** With `steps` where they have changed. */
  targets: (State & {
    target: ScheduledTarget
    previous: Status
    steps?: StoredStep[]
    stepMoves: StepMove[]
  })[]
}

/** Writes the new state of actions and targets, every single move, and notifies watchers. */
export async function storeMoves(trx: Transaction, at: string, moves: Moves): Promise<void> {
  await storeTargets(trx, at, moves.targets)
  await storeActions(trx, at, moves)
  noteTargets(trx, moves.targets)
  noteActions(trx, at, moves.actions)
}

// Each update names the ids as well: they are looked up by their key, however large the table is and whatever the
// planner knows about it.

async function storeTargets(trx: Transaction, at: string, moves: Moves['targets']): Promise<void> {
  if (moves.length === 0) return
  const targets = [...new Set(moves.map(({ target }) => target))]
  const steps = new Map(moves.map((move) => [move.target, move.steps]))
  const changed = targets.map((target) => ({
    ...target,
    gate: gateOf(target.reason),
    completedAt: isEnd(target.status) ? at : null,
    steps: steps.get(target),
  }))
  // Of a target, then of its steps; a missing `order` becomes null.
  const rows = moves.flatMap(({ target, stepMoves, previous, status, reason }) =>
    [{ previous, status, reason }, ...stepMoves].map((move) => ({ target_id: target.id, ...move })),
  )
  await sql`
    with updated as (
      update targets set status = moved.status, status_reason_code = moved.reason, started_at = moved."startedAt",
        completed_at = moved."completedAt", steps = coalesce(moved.steps, targets.steps), gate = moved.gate,
        updated_at = ${at}
      from json_to_recordset(${JSON.stringify(changed)}::json) as moved
        (id bigint, status text, reason text, gate text, "startedAt" timestamptz, "completedAt" timestamptz, steps jsonb)
      where targets.id = moved.id and targets.id = ${anyId(targets.map(({ id }) => id))}
    ), moved as (
      insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
      select target_id, step_order, previous, status, reason, ${at}
      from rows from (json_to_recordset(${JSON.stringify(rows)}::json) as
        (target_id bigint, "order" int, previous text, status text, reason text)) with ordinality as
        moved (target_id, step_order, previous, status, reason, n)
      order by n
    )
    ${notifyWatchers(targets.map(({ actionId }) => actionId))}`.execute(trx)
}

async function storeActions(trx: Transaction, at: string, { slotted, actions: moves }: Moves): Promise<void> {
  const actions = [...new Set([...slotted, ...moves.map(({ action }) => action)])]
  if (actions.length === 0) return
  const changed = actions.map(({ targets, ...action }) => ({
    ...action,
    gate: gateOf(action.reason),
    completedAt: isEnd(action.status) ? at : null,
  }))
  const ended = changed.filter(({ completedAt }) => completedAt !== null).map(({ id }) => id)
  await sql`
    with moved as (
      select * from json_to_recordset(${JSON.stringify(changed)}::json) as moved
        (id bigint, status text, reason text, gate text, "hasSlot" boolean, "startedAt" timestamptz,
          "completedAt" timestamptz)
    ), updated as (
      update actions set status = moved.status, status_reason_code = moved.reason, has_place = moved."hasSlot",
        started_at = moved."startedAt", completed_at = moved."completedAt", gate = moved.gate, updated_at = ${at}
      from moved where actions.id = moved.id and actions.id = ${anyId(actions.map(({ id }) => id))}
    )${ended.length > 0 ? sql`, ended as (${recordResults(ended)})` : sql``}
    ${notifyWatchers(moves.map(({ action }) => action.id))}`.execute(trx)
  await recordMoves(trx, at, moves)
}

/**
 * New actions of these pipelines, other than `except`, wait, however many there are: at a gate, or for a slot. Nothing but their status changes. Returns how many there were, up to `limit`, and which are at which gate.
 */
export async function storeWaiting(
  trx: Transaction,
  at: string,
  of: { pipelineIds: readonly number[]; except: readonly number[]; limit: number },
): Promise<{ count: number; gated: Record<EarlyGate, number[]> }> {
  // `is not true` instead of `not`: the index of those without a slot would be scanned past all that wait already. One
  // pipeline after the other: with an unlimited one, everything that is queued would be read to find nothing.
  const { rows } = await sql<{ id: number; pipelineId: number; gate: EarlyGate | null }>`
    with next as materialized (
      select next.id, next.gate
      from pipelines p cross join lateral (
        select a.id, ${CLOSED_EARLY_GATE} as gate from actions a
        where a.pipeline_id = p.id and a.status = 'queued' and a.has_place is not true
          and a.id <> all(${of.except}::bigint[])
        order by a.id limit ${of.limit}
      ) as next
      where p.id = ${anyId(of.pipelineIds)} and p.max_parallel_actions > 0 limit ${of.limit}
    )
    update actions set status = 'waiting', gate = next.gate, updated_at = ${at}, status_reason_code =
      case next.gate when 'checks' then ${WAITING_FOR_CHECKS.reason} when 'approval' then ${WAITING_FOR_APPROVAL.reason}
        else ${WAITING_FOR_PIPELINE.reason} end
    from next where actions.id = next.id and actions.id = any(array(select id from next))
    returning actions.id, actions.pipeline_id as "pipelineId", next.gate`.execute(trx)
  const inOrder = rows.sort((one, other) => one.id - other.id)
  const moves = inOrder.map(({ gate, ...action }) => ({
    ...(gate ? WAITING_AT[gate] : WAITING_FOR_PIPELINE),
    action,
    previous: 'queued' as const,
    gateEvent: gate && ('gate_changed' as const),
  }))
  await recordMoves(trx, at, moves)
  if (rows.length > 0) await notifyWatchers(inOrder.map(({ id }) => id)).execute(trx)
  noteWaiting(trx, rows.length)
  const idsAt = (gate: EarlyGate) => inOrder.flatMap((row) => (row.gate === gate ? row.id : []))
  return { count: rows.length, gated: { checks: idsAt('checks'), approval: idsAt('approval') } }
}

type ActionMove = State & {
  action: { id: number; pipelineId: number }
  previous: Status
  gateEvent: GateEvent | null
}

/** Every single move, with its deliveries. */
export function recordMoves(trx: Transaction, at: string, moves: readonly ActionMove[]): Promise<void> {
  const events = moves.map(({ action, previous, status, reason, gateEvent }) => ({
    action_id: action.id,
    pipeline_id: action.pipelineId,
    previous_status: previous,
    status,
    status_reason_code: reason,
    is_final: isEnd(status),
    gate_event: gateEvent,
  }))
  return recordEvents(trx, at, events)
}

/** The end of a statement. */
export function notifyWatchers(actionIds: readonly number[]): RawBuilder<unknown> {
  const messages = [...new Set(actionIds)].map((id) => `move ${id}`)
  return sql`select pg_notify(${ACTIONS_CHANNEL}, message) from unnest((select ${messages}::text[])) as message`
}
