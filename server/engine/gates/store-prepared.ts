import { sql } from 'kysely'
import { assignSlots, type EnqueueTargets } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import type { ScheduledAction } from '#engine/scheduling/scheduled-action.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import {
  type ApprovalState,
  countApprovals,
  isSameLive,
  loadApprovals,
  lookAgain,
} from '#engine/scheduling/verify-approval.ts'
import { isEnd, type State } from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { type Found, readLiveOf } from './find-shipped.ts'
import type { Waiting } from './find-waiting.ts'
import type { PinDeps } from './pin-sources.ts'
import { endWaiting, openGate, waitsForApproval } from './settle-gate.ts'

export type StoreDeps = PinDeps & { enqueueTargets: EnqueueTargets; onMoves?: OnMoves }

const SOURCE: State = { status: 'failed', reason: 'FAILED_SOURCE' }

export type Prepared = { run: Waiting; found: Found }

type Stored = Prepared & { action: ScheduledAction; state: ApprovalState }

/** Of runs of one pipeline, under the lock; of each only if nothing has changed since it was found out. */
export function storePrepared(
  { db, onMoves, enqueueTargets }: StoreDeps,
  prepared: readonly Prepared[],
): Promise<void> {
  const { environmentId } = prepared[0]!.run
  const ids = prepared.map(({ run }) => run.actionId)
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const actions = new Map((await pass.load(ids)).map((action) => [action.id, action]))
    const states = await loadApprovals(trx, ids)
    const live = await readLiveOf(
      trx,
      prepared.map(({ run }) => run),
    )
    const over: number[] = []
    const changed: number[] = []
    const stored: Stored[] = []
    for (const { run, found } of prepared) {
      const { actionId } = run
      const [action, state] = [actions.get(actionId), states.get(actionId)]
      if (!action || !state || isEnd(action.status) || !waitsForApproval(action)) over.push(actionId)
      else if (isUnchanged(found, state) && isSameLive(found.live, live.get(actionId)!))
        stored.push({ run, found, action, state })
      else changed.push(actionId)
    }
    await forget(trx, over)
    await lookAgain(trx, changed)
    if (stored.length === 0) return
    await lapse(
      trx,
      stored.filter(({ found }) => !found.isCovered),
      pass.at,
    )
    await storeFound(trx, stored)
    const asked: Stored[] = []
    const opened: Stored[] = []
    for (const one of stored) {
      const { found, state } = one
      const counted = found.isCovered ? await countApprovals(trx, state) : 0
      if (!state.demand || counted >= state.demand.required) opened.push(one)
      else if (!found.isCovered || state.expiresAt === null) asked.push(one)
    }
    await ask(trx, asked, pass.at)
    await pass.noteGate(
      asked.map(({ action }) => action),
      'approval_requested',
    )
    // The oldest one is the next to start; a newer one may supersede it.
    for (const { action } of opened.toReversed())
      if (!isEnd(action.status)) await openGate(pass, action, enqueueTargets)
    await pass.flush()
    // Approved before: it had the next slot, and a pass looks only at so many of those that may have to be asked again.
    const again = stored.filter((one) => one.state.subject !== null && !opened.includes(one))
    const pipelineIds = [...new Set(again.map(({ action }) => action.pipelineId))]
    if (pipelineIds.length > 0) await assignSlots(pass, { pipelineIds }, enqueueTargets)
  }
  return reportMoves(db, onMoves, work, environmentId)
}

const isUnchanged = ({ stamp, shownAs }: Found, state: ApprovalState) =>
  state.stampNow === stamp && state.subject === shownAs

async function storeFound(trx: Transaction, stored: readonly Stored[]): Promise<void> {
  const rows = stored.map(({ run, found }) => ({ id: run.actionId, ...found }))
  await sql`
    update approval_requests r set stamp = found.stamp, verified = found.live, due_at = null, problem = null,
      subject = case when found."isCovered" then r.subject else found.subject end,
      shown = case when found."isCovered" then r.shown else found.live end,
      author_emails = case when found."isCovered" then r.author_emails
        else array(select json_array_elements_text(found.authors)) end
    from json_to_recordset(${JSON.stringify(rows)}::json) as found
      (id bigint, stamp text, subject text, live jsonb, authors json, "isCovered" boolean)
    where r.action_id = found.id and r.action_id = any(${rows.map(({ id }) => id)}::bigint[])`.execute(trx)
}

/** From now on people can approve; the period begins, also after a lapse. */
async function ask(trx: Transaction, asked: readonly Stored[], at: string): Promise<void> {
  if (asked.length === 0) return
  const ids = asked.map(({ state }) => state.actionId)
  const minutes = asked.map(({ state }) => state.demand!.expiresAfterMinutes)
  await sql`
    update approval_requests r set asked_at = ${at}, approved_at = null,
      expires_at = ${at}::timestamptz + asked.minutes * interval '1 minute'
    from unnest(${ids}::bigint[], ${minutes}::int[]) as asked (id, minutes)
    where r.action_id = asked.id`.execute(trx)
}

/** What was approved is not what would start. */
async function lapse(trx: Transaction, lapsed: readonly Stored[], at: string): Promise<void> {
  if (lapsed.length === 0) return
  const ids = lapsed.map(({ action }) => action.id)
  await sql`
    update approvals set lapsed_at = ${at}
    where action_id = any(${ids}::bigint[]) and lapsed_at is null`.execute(trx)
}

/** It ends: what it ships cannot be found out. */
export async function failPrepared(deps: StoreDeps, run: Waiting, message: string): Promise<void> {
  const { db, onMoves, enqueueTargets } = deps
  const { actionId, environmentId } = run
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const [action] = await pass.load([actionId])
    if (!action || isEnd(action.status) || !waitsForApproval(action)) return forget(trx, [actionId])
    await sql`update approval_requests set problem = ${message} where action_id = ${actionId}`.execute(trx)
    await endWaiting(pass, [action], { whole: SOURCE, part: SOURCE }, enqueueTargets)
  }
  await reportMoves(db, onMoves, work, environmentId)
}

export async function forget(db: Database, actionIds: readonly number[]): Promise<void> {
  if (actionIds.length === 0) return
  await sql`
    update approval_requests set due_at = null, expires_at = null
    where action_id = any(${actionIds}::bigint[])`.execute(db)
}
