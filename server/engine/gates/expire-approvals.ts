import { sql } from 'kysely'
import type { EnqueueTargets } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { EXPIRED, isEnd, type State } from '#model/actions/status.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { endWaiting, waitsForApproval } from './settle-gate.ts'

export type ExpireDeps = {
  db: Database
  enqueueTargets: EnqueueTargets
  onMoves?: OnMoves
  onError: (error: Error) => void
}

/** How many runs one pass ends: it holds the lock of the environment. */
const EXPIRED_AT_ONCE = 500
const FAILED_EXPIRED: State = { status: 'failed', reason: 'FAILED_EXPIRED' }

type Due = { actionId: number; environmentId: number }

/** Ends everything that was not approved in time; an error in one environment does not stop the others. */
export async function expireDue(deps: ExpireDeps, signal?: AbortSignal): Promise<void> {
  const failed = new Set<number>()
  for (let count = EXPIRED_AT_ONCE; count === EXPIRED_AT_ONCE && !signal?.aborted; ) {
    const due = await findDue(deps.db, [...failed])
    count = due.length
    for (const [environmentId, runs] of Map.groupBy(due, (run) => run.environmentId)) {
      try {
        await expire(
          deps,
          environmentId,
          runs.map(({ actionId }) => actionId),
        )
      } catch (error) {
        failed.add(environmentId)
        deps.onError(error as Error)
      }
    }
  }
}

async function findDue(db: Database, except: readonly number[]): Promise<Due[]> {
  const { rows } = await sql<Due>`
    select action_id as "actionId", environment_id as "environmentId" from approval_requests
    where expires_at <= clock_timestamp() and environment_id <> all(${except}::bigint[])
    order by expires_at limit ${EXPIRED_AT_ONCE}`.execute(db)
  return rows
}

function expire(
  { db, onMoves, enqueueTargets }: ExpireDeps,
  environmentId: number,
  actionIds: readonly number[],
): Promise<void> {
  const work = async (trx: Transaction): Promise<void> => {
    const pass = await openSchedulingPass(trx, environmentId)
    const actions = await pass.load(actionIds)
    const waiting = actions.filter((action) => !isEnd(action.status) && waitsForApproval(action))
    const waitingIds = waiting.map(({ id }) => id)
    await sql`
      update approval_requests set expires_at = null, due_at = null
      where action_id = any(${actionIds}::bigint[]) and action_id <> all(${waitingIds}::bigint[])`.execute(
      trx,
    )
    // Not those that were approved, or asked for again, meanwhile.
    const { rows } = await sql<{ id: number }>`
      select action_id as id from approval_requests
      where action_id = any(${waitingIds}::bigint[]) and expires_at <= ${pass.at}`.execute(trx)
    const over = new Set(rows.map(({ id }) => id))
    const expired = waiting.filter(({ id }) => over.has(id))
    await endWaiting(pass, expired, { whole: EXPIRED, part: FAILED_EXPIRED }, enqueueTargets)
  }
  return reportMoves(db, onMoves, work, environmentId)
}
