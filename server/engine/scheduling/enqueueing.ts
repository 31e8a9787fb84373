import type { Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import type { Queue } from '#platform/queue/open-queue.ts'
import type { EnqueueTargets } from './settle.ts'

/** What is asked of the queue, in the transaction of the rows that it is about. */
export type Enqueueing = {
  /** Actions were started: they want to take their turn. */
  runs: (trx: Transaction<Tables>, actionIds: number[]) => Promise<void>
  /** Targets have a place on their server: they want to be run. */
  targets: EnqueueTargets
}

export function createEnqueueing(queue: Queue): Enqueueing {
  return {
    runs: async (trx, actionIds) =>
      void (await queue.enqueue(trx, 'actions.run', [{ action_ids: actionIds }])),
    targets: async (trx, targetIds) =>
      void (await queue.enqueue(
        trx,
        'targets.run',
        targetIds.map((target_id) => ({ target_id })),
      )),
  }
}
