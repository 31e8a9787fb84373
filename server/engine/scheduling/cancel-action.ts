import type { Transaction } from 'kysely'
import { sql } from 'kysely'
import { isEnd, type State } from '#model/actions/status.ts'
import type { Tables } from '#platform/database/tables.ts'
import { endSteps } from './derive.ts'
import { openSchedulingPass } from './scheduling-pass.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

export type Cancelled = { kind: 'cancelled' } | { kind: 'gone' } | { kind: 'over' }

/** Workers that run a target of a cancelled action hear of it here. The message is the action's id. */
export const CANCEL_CHANNEL = 'cancelled_actions'

const CANCELLED: State = { status: 'failed', reason: 'FAILED_CANCELLED' }

/**
 * Ends what has not begun at once; whoever runs the rest is told to stop, and ends it. Cancelling twice is
 * cancelling once.
 */
export async function cancelAction(
  trx: Transaction<Tables>,
  actionId: number,
  person: { id: number },
  enqueueTargets: EnqueueTargets,
): Promise<Cancelled> {
  const found = await trx
    .selectFrom('actions')
    .select('environment_id')
    .where('id', '=', actionId)
    .executeTakeFirst()
  if (!found) return { kind: 'gone' }
  const round = await openSchedulingPass(trx, found.environment_id)
  const [action] = await round.load([actionId])
  if (isEnd(action!.status)) return { kind: 'over' }
  await sql`
    update actions set cancelled_at = coalesce(cancelled_at, ${round.at}), cancelled_by = coalesce(cancelled_by, ${person.id})
    where id = ${actionId}`.execute(trx)
  const idle = action!.targets.filter(({ status }) => !isEnd(status) && status !== 'in-progress')
  for (const target of idle) round.moveTarget(target, CANCELLED, endSteps(target.steps, CANCELLED, round.at))
  if (action!.targets.every((target) => isEnd(target.status))) round.moveAction(action!, CANCELLED)
  await sql`select pg_notify(${CANCEL_CHANNEL}, ${String(actionId)})`.execute(trx)
  await settleRound(
    round,
    {
      actionIds: [actionId],
      pipelineIds: [action!.pipelineId],
      serverIds: idle.map((target) => target.serverId),
    },
    enqueueTargets,
  )
  return { kind: 'cancelled' }
}
