import { type Selectable, sql } from 'kysely'
import type { Database, Transaction } from '#platform/database/connect.ts'
import type { HookHealthTable } from '#platform/database/tables.ts'
import type { Log } from '#platform/queue/core.ts'
import { evaluateHook, type FailureRecord, NO_FAILURES } from './auto-disable.ts'
import { afterAttempt, type BreakerState, HEALTHY } from './breaker.ts'
import { type AttemptResult, isDelivered } from './retry-schedule.ts'
import type { RecordedDelivery } from './store-statement.ts'

/** A probe that ended before anything was sent. */
const NOT_SENT: AttemptResult = { kind: 'blocked' }

/**
 * Updates the health of receivers. One that has never failed needs no row: that is nearly all of them. Each hook has its
 * own transaction, so that `persist` does not count the failures of other hooks again.
 */
export async function storeHealth(
  db: Database,
  log: Log,
  recorded: readonly RecordedDelivery[],
  persist: (work: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const relevant = recorded.filter((one) => {
    const { delivery } = one.attempted
    const result = healthOf(one)
    return result ? delivery.isFailing || !isDelivered(result) : delivery.isProbe
  })
  for (const [hookId, ofHook] of Map.groupBy(relevant, ({ attempted }) => attempted.delivery.hookId))
    await persist(() => db.transaction().execute((trx) => storeHookHealth(trx, log, hookId, ofHook)))
}

/** What an attempt says about the receiver; null: nothing. */
const healthOf = ({ attempted }: RecordedDelivery) => (attempted.kind === 'sent' ? attempted.health : null)

async function storeHookHealth(
  trx: Transaction,
  log: Log,
  hookId: string,
  recorded: readonly RecordedDelivery[],
): Promise<void> {
  // Created or locked in one statement: between two, another process may delete the row of a healthy receiver.
  const { rows } = await sql<Selectable<HookHealthTable> & { now: string }>`
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
  for (const one of recorded) {
    const result = healthOf(one)
    breaker = afterAttempt(breaker, result ?? NOT_SENT, { now, isProbe: one.attempted.delivery.isProbe })
    if (!result) continue
    const evaluated = evaluateHook(record, result, { now, isLast: one.next.kind === 'failed' })
    const { verdict } = evaluated
    record = evaluated.record
    if (verdict.kind === 'warn')
      log.warn({ hook_id: hookId, failing_since: record.failingSince }, 'outgoing hook keeps failing')
    if (verdict.kind === 'disable') {
      await sql`
        update hooks set active = false, disabled_at = now(), disabled_reason = ${verdict.reason}, updated_at = now()
        where id = ${hookId} and active`.execute(trx)
      log.warn({ hook_id: hookId, reason: verdict.reason }, 'outgoing hook disabled')
      breaker = HEALTHY
      record = NO_FAILURES
      break
    }
  }
  const isHealthy = breaker.failures === 0 && breaker.openUntil === null && record.failingSince === null
  if (isHealthy) await trx.deleteFrom('hook_health').where('hook_id', '=', hookId).execute()
  else
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

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text)
}
