import { sql, type Transaction } from 'kysely'
import type { StoredStep, Tables } from '#database/tables.ts'
import { openRound } from './round.ts'
import { type EnqueueTargets, settleRound } from './settle.ts'

export type Begun = {
  attempt: number
  environmentId: number
  actionId: number
  steps: StoredStep[]
  cancelled: boolean
  /** Another attempt has begun before this one. */
  isTakenOver: boolean
}

/**
 * Takes a target that is queued, or one whose worker was lost, for a new attempt. From here on what older
 * attempts still write is refused. Null: there is nothing left to do. `key` is the caller's own: asking again
 * with the same key, because the answer was lost, is the same attempt.
 */
export async function beginTarget(
  trx: Transaction<Tables>,
  targetId: number,
  key: string,
  enqueueTargets: EnqueueTargets,
): Promise<Begun | null> {
  const found = await trx
    .selectFrom('targets')
    .innerJoin('actions', 'actions.id', 'targets.action_id')
    .select(['actions.id as actionId', 'actions.environment_id as environmentId'])
    .where('targets.id', '=', targetId)
    .executeTakeFirst()
  if (!found) return null
  const round = await openRound(trx, found.environmentId)
  const [action] = await round.load([found.actionId])
  const target = action?.targets.find((one) => one.id === targetId)
  if (!target || (target.status !== 'queued' && target.status !== 'in-progress')) return null
  const wasRunning = target.status === 'in-progress'
  if (!wasRunning) {
    round.moveTarget(target, { status: 'in-progress', reason: 'IN_PROGRESS' })
    await countRun(trx, found.environmentId, round.at)
  }
  await settleRound(round, { actionIds: [found.actionId] }, enqueueTargets)
  const { rows } = await sql<{ attempt: number; isOurs: boolean; cancelled: boolean }>`
    update targets set attempt_key = ${key}, attempt = targets.attempt + (before.attempt_key is distinct from ${key})::int
    from targets before join actions on actions.id = before.action_id
    where targets.id = ${targetId} and before.id = targets.id
    returning targets.attempt, before.attempt_key is not distinct from ${key} as "isOurs",
      actions.cancelled_at is not null as cancelled`.execute(trx)
  const { attempt, isOurs, cancelled } = rows[0]!
  return { ...found, attempt, steps: target.steps, cancelled, isTakenOver: wasRunning && !isOurs }
}

async function countRun(trx: Transaction<Tables>, environmentId: number, at: string): Promise<void> {
  await sql`
    insert into used_credits (environment_id, month, target_runs)
    values (${environmentId}, date_trunc('month', ${at}::timestamptz at time zone 'UTC')::date, 1)
    on conflict (environment_id, month) do update set target_runs = used_credits.target_runs + 1`.execute(trx)
}
