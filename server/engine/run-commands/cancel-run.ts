import { type Cancelled, cancelAction } from '#engine/scheduling/cancel-action.ts'
import type { RunDeps } from './run-pipeline.ts'

/**
 * Cancels an action for a person. What has not begun ends at once, so a second wish may find the action ended
 * by the first: that is no refusal.
 */
export function cancelRun(
  { db, enqueue }: RunDeps,
  actionId: number,
  person: { id: number },
): Promise<Cancelled> {
  return db.transaction().execute(async (trx): Promise<Cancelled> => {
    const outcome = await cancelAction(trx, actionId, person, enqueue.targets)
    if (outcome.kind !== 'over') return outcome
    const { status, cancelled_at } = await trx
      .selectFrom('actions')
      .select(['status', 'cancelled_at'])
      .where('id', '=', actionId)
      .executeTakeFirstOrThrow()
    return cancelled_at !== null && status !== 'completed' ? { kind: 'cancelled' } : outcome
  })
}
