import type { Transaction } from 'kysely'
import type { Tables } from '#platform/database/tables.ts'
import { openSchedulingPass } from './scheduling-pass.ts'

/** A round with the action of a target that has a place and is not over; null when there is none. */
export async function openTarget(trx: Transaction<Tables>, targetId: number) {
  const found = await trx
    .selectFrom('targets')
    .innerJoin('actions', 'actions.id', 'targets.action_id')
    .select(['actions.id as actionId', 'actions.environment_id as environmentId'])
    .where('targets.id', '=', targetId)
    .executeTakeFirst()
  if (!found) return null
  const round = await openSchedulingPass(trx, found.environmentId)
  const [action] = await round.load([found.actionId])
  const target = action?.targets.find((one) => one.id === targetId)
  if (!action || !target || (target.status !== 'queued' && target.status !== 'in-progress')) return null
  return { ...found, round, action, target }
}
