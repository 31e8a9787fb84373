import type { Database } from '#platform/database/connect.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

/** Lets actions that were started take their turn; those whose turn is later wait. Run by a job. */
export async function advanceActions(
  db: Database,
  actionIds: readonly number[],
  enqueueTargets: EnqueueTargets,
): Promise<void> {
  const rows = await db
    .selectFrom('actions')
    .select(['id', 'environment_id'])
    .where('id', 'in', actionIds)
    .execute()
  for (const [environmentId, actions] of Map.groupBy(rows, (row) => row.environment_id)) {
    await db.transaction().execute(async (trx) => {
      const round = await openSchedulingPass(trx, environmentId)
      await settleRound(round, { actionIds: actions.map(({ id }) => id) }, enqueueTargets)
    })
  }
}
