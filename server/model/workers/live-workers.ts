import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { LiveWorker } from './placement.ts'

/** A worker that has not sent a heartbeat for this long counts as offline: it has missed three. */
export const OFFLINE_AFTER_SECONDS = 30

/** Of a row of `workers`. */
export const IS_ONLINE: RawBuilder<boolean> = sql`
  workers.seen_at > now() - ${sql.lit(OFFLINE_AFTER_SECONDS)} * interval '1 second'`

export async function readLiveWorkers(db: Database): Promise<LiveWorker[]> {
  const { rows } = await sql<LiveWorker>`
    select name, draining_since is not null as draining from workers where ${IS_ONLINE}`.execute(db)
  return rows
}

export async function countOnline(db: Database): Promise<number> {
  return (await readLiveWorkers(db)).length
}

/** An expression: the releases of all workers continue detached steps, so that whichever takes over a run can. */
export const ALL_REATTACH: RawBuilder<boolean> = sql`
  not exists (select from workers where ${IS_ONLINE} and not reattaches)`
