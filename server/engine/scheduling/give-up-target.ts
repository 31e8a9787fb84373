import { sql, type Transaction } from 'kysely'
import type { State } from '#model/actions/status.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { StepChange } from './move-steps.ts'
import { openTarget } from './open-target.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

/**
 * Ends a target that no attempt can begin, whatever its steps say of it, and lets follow what follows. Attempts
 * that are still about lose it. Returns the number of the attempt that may say why; null when it is over already.
 */
export async function giveUpTarget(
  trx: Transaction<Tables>,
  targetId: number,
  end: State,
  change: StepChange,
  enqueueTargets: EnqueueTargets,
): Promise<number | null> {
  const opened = await openTarget(trx, targetId)
  if (!opened) return null
  const { actionId, round, action, target } = opened
  round.moveTarget(target, end, change(target.steps, round.at))
  await settleRound(
    round,
    { actionIds: [actionId], pipelineIds: [action.pipelineId], serverIds: [target.serverId] },
    enqueueTargets,
  )
  const { rows } = await sql<{ attempt: number }>`
    update targets set attempt = attempt + 1, attempt_key = null where id = ${targetId} returning attempt`.execute(
    trx,
  )
  return rows[0]!.attempt
}
