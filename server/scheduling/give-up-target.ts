import { sql, type Transaction } from 'kysely'
import type { State } from '#actions/status.ts'
import type { Tables } from '#database/tables.ts'
import type { StepChange } from './move-steps.ts'
import { openRound } from './round.ts'
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
  const found = await trx
    .selectFrom('targets')
    .innerJoin('actions', 'actions.id', 'targets.action_id')
    .select(['actions.id as actionId', 'actions.environment_id as environmentId'])
    .where('targets.id', '=', targetId)
    .executeTakeFirst()
  if (!found) return null
  const { actionId, environmentId } = found
  const round = await openRound(trx, environmentId)
  const [action] = await round.load([actionId])
  const target = action?.targets.find((one) => one.id === targetId)
  if (!target || (target.status !== 'queued' && target.status !== 'in-progress')) return null
  round.moveTarget(target, end, change(target.steps, round.at))
  await settleRound(
    round,
    { actionIds: [actionId], pipelineIds: [action!.pipelineId], serverIds: [target.serverId] },
    enqueueTargets,
  )
  const { rows } = await sql<{ attempt: number }>`
    update targets set attempt = attempt + 1, attempt_key = null where id = ${targetId} returning attempt`.execute(
    trx,
  )
  return rows[0]!.attempt
}
