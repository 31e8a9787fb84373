import { sql, type Transaction } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Tables } from '#platform/database/tables.ts'
import type { Log } from '#platform/queue/core.ts'
import type { EndedAttempt } from './attempt.ts'
import { afterAttempt, type BreakerState, HEALTHY } from './breaker.ts'
import { type AttemptResult, isDelivered } from './retry-schedule.ts'
import { type FailureRecord, judgeHook, NO_FAILURES } from './switch-off.ts'

/** A probe that ended before anybody was asked. */
const NOT_SENT: AttemptResult = { kind: 'blocked' }

/**
 * A receiver that answers well and has always done so needs no writing: that is nearly all of them. `persist` repeats
 * what the database did not take: one hook, so that the failures of the others are not counted again.
 */
export async function storeHealth(
  db: Database,
  log: Log,
  attempts: readonly EndedAttempt[],
  persist: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const telling = attempts.filter(({ result, delivery }) =>
    result ? delivery.isAiling || !isDelivered(result) : delivery.isProbe,
  )
  for (const [hookId, ofHook] of Map.groupBy(telling, ({ delivery }) => delivery.hookId)) {
    await persist(() => db.transaction().execute((trx) => storeHookHealth(trx, log, hookId, ofHook)))
  }
}

type HealthRow = {
  now: string
  failures_in_a_row: number
  open_until: string | null
  failing_since: string | null
  failed_deliveries: number
  gone_answers: number
  warned_at: string | null
}

async function storeHookHealth(
  trx: Transaction<Tables>,
  log: Log,
  hookId: string,
  attempts: readonly EndedAttempt[],
): Promise<void> {
  // Made or locked in one: between two statements another process may remove the row of a receiver that is well.
  const { rows } = await sql<HealthRow>`
    insert into hook_health (hook_id) values (${hookId})
    on conflict (hook_id) do update set hook_id = excluded.hook_id
    returning now(), hook_health.*`.execute(trx)
  const row = rows[0]!
  const now = new Date(row.now)
  let breaker: BreakerState = { failures: row.failures_in_a_row, openUntil: dateOf(row.open_until) }
  let record: FailureRecord = {
    failingSince: dateOf(row.failing_since),
    failedDeliveries: row.failed_deliveries,
    goneAnswers: row.gone_answers,
    warnedAt: dateOf(row.warned_at),
  }
  for (const { delivery, next, result } of attempts) {
    breaker = afterAttempt(breaker, result ?? NOT_SENT, { now, isProbe: delivery.isProbe })
    if (!result) continue
    const judged = judgeHook(record, result, { now, gaveUp: next.kind === 'give-up' })
    record = judged.record
    if (judged.verdict.kind === 'warn')
      log.warn(
        { hook_id: hookId, failing_since: record.failingSince },
        'an outgoing hook keeps failing and will be switched off',
      )
    if (judged.verdict.kind === 'switch-off') {
      await switchOff(trx, hookId, judged.verdict.reason)
      log.warn({ hook_id: hookId, reason: judged.verdict.reason }, 'an outgoing hook was switched off')
      breaker = HEALTHY
      record = NO_FAILURES
      break
    }
  }
  await write(trx, hookId, breaker, record)
}

async function write(
  trx: Transaction<Tables>,
  hookId: string,
  breaker: BreakerState,
  record: FailureRecord,
): Promise<void> {
  const isWell = breaker.failures === 0 && breaker.openUntil === null && record.failingSince === null
  if (isWell) {
    await trx.deleteFrom('hook_health').where('hook_id', '=', hookId).execute()
    return
  }
  await trx
    .updateTable('hook_health')
    .set({
      failures_in_a_row: breaker.failures,
      open_until: breaker.openUntil,
      failing_since: record.failingSince,
      failed_deliveries: record.failedDeliveries,
      gone_answers: record.goneAnswers,
      warned_at: record.warnedAt,
    })
    .where('hook_id', '=', hookId)
    .execute()
}

async function switchOff(trx: Transaction<Tables>, hookId: string, reason: string): Promise<void> {
  await sql`
    update hooks set active = false, disabled_at = now(), disabled_reason = ${reason}, updated_at = now()
    where id = ${hookId} and active`.execute(trx)
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
