import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { within } from '#platform/queue/repeat.ts'

// Which workers are online: each one stores a heartbeat, and one that misses three counts as offline. This is only
// displayed; the queue has its own heartbeats, by which jobs are reassigned.

const HEARTBEAT_MS = 10_000
const OFFLINE_AFTER_SECONDS = 30
/** A stop does not wait longer for an unreachable database: the missing heartbeat will tell. */
const SIGN_OFF_MS = 1_000

/** Reports this worker as online until it is stopped. A heartbeat that cannot be stored is reported and tried again. */
export async function startHeartbeat(
  db: Database,
  options: { onError: (error: Error) => void; heartbeatMs?: number },
): Promise<{ stop(): Promise<void> }> {
  const id = randomUUID()
  let last = Promise.resolve()
  const next = () => {
    last = last.then(() => storeHeartbeat(db, id)).catch(options.onError)
  }
  next()
  await last
  const timer = setInterval(next, options.heartbeatMs ?? HEARTBEAT_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      const signOff = last.then(() => db.deleteFrom('workers').where('id', '=', id).execute())
      await within(SIGN_OFF_MS, signOff.catch(options.onError))
    },
  }
}

async function storeHeartbeat(db: Database, id: string): Promise<void> {
  await sql`
    with dead as (delete from workers where seen_at < now() - interval '1 day' and id <> ${id})
    insert into workers (id) values (${id}) on conflict (id) do update set seen_at = now()`.execute(db)
}

export async function countOnline(db: Database): Promise<number> {
  const { rows } = await sql<{ alive: number }>`
    select count(*) as alive from workers
    where seen_at > now() - ${OFFLINE_AFTER_SECONDS}::int * interval '1 second'`.execute(db)
  return rows[0]!.alive
}
