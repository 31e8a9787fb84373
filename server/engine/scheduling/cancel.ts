import { sql } from 'kysely'
import { isEnd, type State } from '#model/actions/status.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { conflict, type HttpProblem } from '#platform/http/problems.ts'
import { reassignJobs } from '#platform/queue/target-jobs.ts'
import { assignSlots, type EnqueueTargets } from './assign-slots.ts'
import { type OnMoves, reportMoves } from './committed-moves.ts'
import { isHeld } from './held-targets.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { actionState } from './states.ts'

/** Notifies the workers that run targets of a cancelled action. The message is the action's id. */
const CANCEL_CHANNEL = 'cancelled_actions'

const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }

type CancelOutcome = { kind: 'cancelled' } | HttpProblem

/**
 * Ends what has not started at once; workers that run the rest are notified, stop it, and end it. Idempotent:
 * cancelling an action that an earlier cancellation has ended succeeds.
 */
export function cancelAction(
  { db, enqueueTargets, onMoves }: { db: Database; enqueueTargets: EnqueueTargets; onMoves?: OnMoves },
  actionId: number,
  user: { id: number },
): Promise<CancelOutcome> {
  return reportMoves(db, onMoves, async (trx): Promise<CancelOutcome> => {
    const row = () =>
      trx
        .selectFrom('actions')
        .select(['environment_id', 'status', 'cancelled_at'])
        .where('id', '=', actionId)
        .executeTakeFirst()
    const found = await row()
    if (!found) return { kind: 'gone' }
    const pass = await openSchedulingPass(trx, found.environment_id)
    const [loaded] = await pass.load([actionId])
    const action = loaded!
    if (isEnd(action.status)) {
      const isCancelled = (await row())!.cancelled_at !== null && action.status !== 'completed'
      return isCancelled ? { kind: 'cancelled' } : conflict('The action has already ended.')
    }
    await sql`
      update actions set cancelled_at = coalesce(cancelled_at, ${pass.at}), cancelled_by = coalesce(cancelled_by, ${user.id})
      where id = ${actionId}`.execute(trx)
    const idle = action.targets.filter(({ status }) => !isEnd(status) && status !== 'in-progress')
    action.isCancelled = true
    for (const target of action.targets.filter(isHeld))
      pass.moveTarget(target, { status: 'completed', reason: 'COMPLETED' })
    await pass.endIdle(idle, CANCELLED)
    if (action.targets.every((target) => isEnd(target.status)))
      pass.moveAction(action, actionState(action.targets))
    await sql`select pg_notify(${CANCEL_CHANNEL}, ${String(actionId)})`.execute(trx)
    // A started target that waits for its worker to come back is ended by any other one.
    const started = action.targets.flatMap(({ status, id }) => (status === 'in-progress' ? id : []))
    await reassignJobs(trx, started)
    const serverIds = idle.map((target) => target.serverId)
    const affected = { actionIds: [actionId], pipelineIds: [action.pipelineId], serverIds }
    await assignSlots(pass, affected, enqueueTargets)
    return { kind: 'cancelled' }
  })
}

/** Signals running targets that their action was cancelled, by whichever process. */
export async function watchCancellations(db: Database, listener: Listener, onError: (error: Error) => void) {
  const watched = new Set<{ actionId: number; controller: AbortController }>()
  const cancel = (actionId: number) => {
    for (const one of watched) if (one.actionId === actionId) one.controller.abort()
  }

  /** Notifications that were sent while the connection was down are in the table. */
  async function catchUp(): Promise<void> {
    if (watched.size === 0) return
    const rows = await db
      .selectFrom('actions')
      .select('id')
      .where('id', 'in', [...new Set([...watched].map(({ actionId }) => actionId))])
      .where('cancelled_at', 'is not', null)
      .execute()
    for (const { id } of rows) cancel(id)
  }

  await listener.subscribe(CANCEL_CHANNEL, {
    onNotify: (message) => cancel(Number(message)),
    onReconnect: () => void catchUp().catch(onError),
  })

  return {
    watch(actionId: number): { signal: AbortSignal; stop(): void } {
      const one = { actionId, controller: new AbortController() }
      watched.add(one)
      return { signal: one.controller.signal, stop: () => void watched.delete(one) }
    },
  }
}
