import { sql, type Transaction } from 'kysely'
import type { StoredStep, Tables } from '#platform/database/tables.ts'
import { openTarget } from './open-target.ts'
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
  const opened = await openTarget(trx, targetId)
  if (!opened) return null
  const { actionId, environmentId, round, target } = opened
  const wasRunning = target.status === 'in-progress'
  if (!wasRunning) {
    round.moveTarget(target, { status: 'in-progress', reason: 'IN_PROGRESS' })
    await countRun(trx, environmentId, round.at)
  }
  await settleRound(round, { actionIds: [actionId] }, enqueueTargets)
  const { rows } = await sql<{ attempt: number; isOurs: boolean; cancelled: boolean }>`
    update targets set attempt_key = ${key}, attempt = targets.attempt + (before.attempt_key is distinct from ${key})::int
    from targets before join actions on actions.id = before.action_id
    where targets.id = ${targetId} and before.id = targets.id
    returning targets.attempt, before.attempt_key is not distinct from ${key} as "isOurs",
      actions.cancelled_at is not null as cancelled`.execute(trx)
  const { attempt, isOurs, cancelled } = rows[0]!
  const isTakenOver = wasRunning && !isOurs
  return { actionId, environmentId, attempt, steps: target.steps, cancelled, isTakenOver }
}

async function countRun(trx: Transaction<Tables>, environmentId: number, at: string): Promise<void> {
  await sql`
    insert into used_credits (environment_id, month, target_runs)
    values (${environmentId}, date_trunc('month', ${at}::timestamptz at time zone 'UTC')::date, 1)
    on conflict (environment_id, month) do update set target_runs = used_credits.target_runs + 1`.execute(trx)
}
