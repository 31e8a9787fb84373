import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { within } from '#platform/queue/repeat.ts'

// Which workers live: each one says so again and again, and whoever has been silent for three times as long is
// taken for dead. Work is never given away by this (the queue has heartbeats of its own): it is only shown.

const BEAT_MS = 10_000
const SILENT_SECONDS = 30
/** A stop does not wait longer for a database that is away: the silence will tell. */
const LAST_WORD_MS = 1_000

export type Beating = { stop(): Promise<void> }

/** Says that this process works, until it is stopped. A beat that cannot be stored is reported, and the next one tried. */
export async function startHeartbeat(
  db: Database,
  options: { onError: (error: Error) => void; beatMs?: number },
): Promise<Beating> {
  const id = randomUUID()
  let beat = Promise.resolve()
  const next = () => {
    beat = beat.then(() => storeBeat(db, id)).catch(options.onError)
  }
  next()
  await beat
  const timer = setInterval(next, options.beatMs ?? BEAT_MS)
  timer.unref()
  return {
    async stop() {
      clearInterval(timer)
      const farewell = beat.then(() => db.deleteFrom('workers').where('id', '=', id).execute())
      await within(LAST_WORD_MS, farewell.catch(options.onError))
    },
  }
}

async function storeBeat(db: Database, id: string): Promise<void> {
  await sql`
    with dead as (delete from workers where seen_at < now() - interval '1 day' and id <> ${id})
    insert into workers (id) values (${id}) on conflict (id) do update set seen_at = now()`.execute(db)
}

export async function countOnline(db: Database): Promise<number> {
  const { rows } = await sql<{ alive: number }>`
    select count(*) as alive from workers
    where seen_at > now() - ${SILENT_SECONDS}::int * interval '1 second'`.execute(db)
  return rows[0]!.alive
}
