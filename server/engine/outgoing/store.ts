// The third stage of a delivery: attempted ones are stored, with everything that their answers say.
import type { Database } from '#platform/database/connect.ts'
import { isOutage } from '#platform/database/outages.ts'
import type { Log } from '#platform/queue/core.ts'
import { createSignal } from '#platform/queue/signal.ts'
import type { AttemptedDelivery } from './attempt-delivery.ts'
import { type Budget, type StoredPause, storePauses, storeRecoveries } from './rate-budgets.ts'
import { WITHOUT_BODIES } from './record-attempt.ts'
import { type StageDeps, tolerate } from './stage.ts'
import { storeHealth } from './store-health.ts'
import { type RecordedDelivery, writeAttempts } from './store-statement.ts'

export type StoreOptions = StageDeps & {
  /** An attempt was stored, or its delivery failed because it could not be. */
  onAttempt?: (recorded: RecordedDelivery) => void
  /** A service allows no more requests for now, and every process knows it. */
  onPause?: (pause: StoredPause) => void
}

/** Stores attempted deliveries, those that end together with one statement. */
export function createStore(options: StoreOptions) {
  const { db, log, capacity, budgets, persist, signal, onAttempt, onPause } = options
  const attempts: AttemptedDelivery[] = []
  const recovered: Budget[] = []
  const mayStore = createSignal()

  /** Must run before the attempts are stored: after that, other processes may claim their deliveries. */
  async function storeLimits(batch: readonly AttemptedDelivery[]): Promise<void> {
    const pauses = batch.flatMap((one) => (one.kind === 'sent' && one.pause ? [one.pause] : []))
    const recoveries = recovered.splice(0)
    if (pauses.length === 0 && recoveries.length === 0) return
    const store = async () => {
      await storeRecoveries(db, recoveries)
      return storePauses(db, pauses)
    }
    for (const pause of await tolerate(options, 'store rate limits', store, [])) {
      budgets.stored(pause)
      const { credentialId: credential_id, origin, ms: pause_ms } = pause
      log.info({ credential_id, origin, pause_ms }, 'rate limit reached')
      onPause?.(pause)
    }
  }

  return {
    wakeUp: mayStore.notify,
    add(attempted: AttemptedDelivery): void {
      const budget = capacity.finish(attempted)
      if (budget) recovered.push(budget)
      attempts.push(attempted)
      mayStore.notify()
    },
    /** Stores what has ended, and returns the hooks whose next deliveries may have waited for it. */
    async next(): Promise<string[]> {
      await mayStore.wait()
      // Attempts that finish in the same turn share the statement.
      await new Promise(setImmediate)
      const batch = attempts.splice(0)
      if (batch.length === 0) return []
      await storeLimits(batch)
      const recorded = await storeAttempts(db, batch, (work) => persist('store attempts', work, signal))
      capacity.stored(batch.length)
      for (const one of recorded) {
        logAttempt(log, one)
        onAttempt?.(one)
      }
      await storeHealth(db, log, recorded, (work) =>
        tolerate(options, 'store receiver health', work, undefined),
      )
      for (const attempted of batch) capacity.release(attempted)
      return batch.map(({ delivery }) => delivery.hookId)
    },
  }
}

function logAttempt(log: Log, { attempted: { delivery }, next, record }: RecordedDelivery): void {
  const hasFailed = next.kind === 'failed' || next.kind === 'unrecorded'
  const level = hasFailed ? 'warn' : next.kind === 'delivered' ? 'debug' : 'info'
  const fields = {
    hook_id: delivery.hookId,
    action_id: delivery.action.id,
    delivery_id: delivery.id,
    attempt: delivery.attempt,
    status: delivery.event.status,
    outcome: record?.outcome ?? next.kind,
    answer: record?.response_status_code ?? null,
    duration_ms: record?.duration_ms ?? null,
    next_attempt_in_ms: 'afterMs' in next ? Math.round(next.afterMs) : null,
    ...(record?.error && { error: record.error }),
    ...(hasFailed && { reason: next.reason }),
  }
  log[level](fields, 'delivery attempt')
}

type DatabaseError = Error & { code?: string }

/**
 * Stores attempts and returns them as stored. An attempt that the database rejects does not block the others: it is stored
 * without bodies and headers; when that is rejected as well, its delivery fails as `unrecorded`. `persist` repeats work
 * while the database is away.
 */
export async function storeAttempts(
  db: Database,
  attempts: readonly AttemptedDelivery[],
  persist: <Result>(work: () => Promise<Result>) => Promise<Result>,
): Promise<RecordedDelivery[]> {
  const complete = attempts.map(
    (attempted): RecordedDelivery => ({ attempted, next: attempted.next, record: attempted.record }),
  )
  if (!(await tryToWrite(complete))) return complete
  const stored: RecordedDelivery[] = []
  for (const one of complete) stored.push(await storeAlone(one))
  return stored

  async function storeAlone(one: RecordedDelivery): Promise<RecordedDelivery> {
    const error = await tryToWrite([one])
    if (!error) return one
    const [withoutBodies, withReason, withoutRecord] = reducedVersions(one, error)
    for (const version of [withoutBodies, withReason]) if (!(await tryToWrite([version]))) return version
    await tryToWrite([withoutRecord])
    return withoutRecord
  }

  /** The error with which the database rejects the attempts; outages are waited out. */
  function tryToWrite(batch: readonly RecordedDelivery[]): Promise<DatabaseError | null> {
    const rejection = (error: DatabaseError) => {
      if (isOutage(error)) throw error
      return error
    }
    return persist(() => writeAttempts(db, batch).then(() => null, rejection))
  }
}

/** Each version holds less that the database could reject; the last two fail the delivery. */
function reducedVersions(
  { attempted, next, record: complete }: RecordedDelivery,
  { code = 'unknown' }: DatabaseError,
) {
  const record = complete && { ...complete, ...WITHOUT_BODIES }
  // The outcome says whether anything was sent: a blocked or unrenderable request was not.
  const error = `This attempt (${record?.outcome ?? next.kind}) could not be stored (database error ${code}).`
  const failed: RecordedDelivery = { attempted, next: { kind: 'unrecorded', reason: error }, record: null }
  const bare = { error, url: '', ip_address: null, response_status_code: null, duration_ms: null }
  return [
    { attempted, next, record },
    { ...failed, record: record && { ...record, ...bare, outcome: 'unrecorded' as const } },
    failed,
  ] as const
}
