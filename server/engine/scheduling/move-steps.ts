import { sql, type Transaction } from 'kysely'
import { ACTIONS_CHANNEL } from '#model/actions/channel.ts'
import type { StoredStep, Tables } from '#platform/database/tables.ts'
import { stepMoves } from './scheduling-pass.ts'

/** The steps of a target as they are to be, given the time. */
export type StepChange = (steps: readonly StoredStep[], at: string) => StoredStep[]

/**
 * Moves the steps of a target that goes on, in its attempt's name. Needs no lock on the environment: nothing
 * but steps changes, and only the one who runs the target writes them.
 */
export async function moveSteps(
  trx: Transaction<Tables>,
  owner: { targetId: number; attempt: number },
  change: StepChange,
): Promise<{ kind: 'moved'; steps: StoredStep[]; cancelled: boolean } | { kind: 'lost' }> {
  const { rows } = await sql<{ action_id: number; steps: StoredStep[]; at: string; cancelled: boolean }>`
    select t.action_id, t.steps, clock_timestamp()::timestamptz(3) as at, a.cancelled_at is not null as cancelled
    from targets t join actions a on a.id = t.action_id
    where t.id = ${owner.targetId} and t.attempt = ${owner.attempt} and t.status = 'in-progress'
    for no key update of t`.execute(trx)
  const [row] = rows
  if (!row) return { kind: 'lost' }
  const steps = change(row.steps, row.at)
  await sql`
    with updated as (
      update targets set steps = ${JSON.stringify(steps)}, updated_at = ${row.at} where id = ${owner.targetId}
    ), moved as (
      insert into target_moves (target_id, step_order, previous_status, status, status_reason_code, occurred_at)
      select ${owner.targetId}, "order", previous, status, reason, ${row.at}
      from json_to_recordset(${JSON.stringify(stepMoves(row.steps, steps))}::json)
        as move ("order" int, previous text, status text, reason text)
      order by "order"
    )
    select pg_notify(${ACTIONS_CHANNEL}, ${`move ${row.action_id}`})`.execute(trx)
  return { kind: 'moved', steps, cancelled: row.cancelled }
}
