import { sql } from 'kysely'
import type { Executor } from '#adapters/executors/executor.ts'
import { readLive } from '#model/deploy/commands.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { type Disk, readVersion } from './live-record.ts'
import { askServer, settle } from './settle.ts'
import { storeReading } from './store-reading.ts'

/**
 * Reads what a server serves, and corrects the record if it differs; settles an interrupted switch whose run has ended. One
 * whose run continues is left to that. Nothing is thrown or stored when the server does not answer: returns why; null
 * otherwise.
 */
export async function checkLive(
  db: Database,
  executor: Executor,
  { base, ...disk }: Disk & { base: string },
  signal: AbortSignal,
  timeoutMs?: number,
): Promise<string | null> {
  const interrupted = await retryOutage(() => raiseEnded(db, disk), signal)
  if (interrupted === 'continues') return null
  if (interrupted) {
    const found = await settle(db, executor, { disk, base, ...interrupted, isRunning: false }, signal)
    return found.kind === 'unknown' ? found.reason : null
  }
  const version = await retryOutage(() => readVersion(db, disk), signal)
  const asked = await askServer(executor, readLive(base), signal, timeoutMs)
  if (asked.kind === 'failed') return asked.reason
  await retryOutage(() => storeReading(db, { ...disk, reading: asked.reading, version }), signal)
  return null
}

type Ended = { targetId: number; run: string; attempt: number }

/** The target whose switch was interrupted, with a new attempt number: what it has sent before is refused from now on. */
async function raiseEnded(
  db: Database,
  { applicationId, serverId }: Disk,
): Promise<Ended | 'continues' | undefined> {
  const { rows } = await sql<{ targetId: number; attempt: number | null; run: string | null }>`
    with interrupted as (
      select t.id, t.status from unknown_live_releases u join targets t on t.id = u.target_id
      where u.application_id = ${applicationId} and u.server_id = ${serverId}
    ), raised as (
      update targets set attempt = attempt + 1, attempt_key = null from interrupted
      where targets.id = interrupted.id and interrupted.status in ('completed', 'failed', 'skipped')
      returning targets.id, attempt
    )
    select interrupted.id as "targetId", raised.attempt,
      (select installation from key_check) || '-' || raised.id as run
    from interrupted left join raised using (id)`.execute(db)
  const [row] = rows
  if (!row) return undefined
  return row.attempt === null ? 'continues' : { ...row, attempt: row.attempt, run: row.run! }
}
