import type { Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import { endOfTarget } from './derive.ts'
import type { StepChange } from './move-steps.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

/**
 * Ends a target in its attempt's name, and lets follow what follows: its action may end, the next action or
 * target take the place. False: the attempt no longer owns the target.
 */
export async function endTarget(
  trx: Transaction<Tables>,
  owner: { targetId: number; actionId: number; environmentId: number; attempt: number },
  change: StepChange,
  enqueueTargets: EnqueueTargets,
): Promise<boolean> {
  const round = await openSchedulingPass(trx, owner.environmentId)
  const owned = await trx
    .selectFrom('targets')
    .select('id')
    .where('id', '=', owner.targetId)
    .where('attempt', '=', owner.attempt)
    .where('status', '=', 'in-progress')
    .forNoKeyUpdate()
    .executeTakeFirst()
  if (!owned) return false
  const [action] = await round.load([owner.actionId])
  const target = action!.targets.find((one) => one.id === owner.targetId)!
  const steps = change(target.steps, round.at)
  round.moveTarget(target, endOfTarget(steps), steps)
  await settleRound(
    round,
    { actionIds: [action!.id], pipelineIds: [action!.pipelineId], serverIds: [target.serverId] },
    enqueueTargets,
  )
  return true
}
