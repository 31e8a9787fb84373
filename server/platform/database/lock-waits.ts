import { sql } from 'kysely'
import { oncePer } from '#platform/once-per.ts'
import type { Database } from './connect.ts'
import type { Session } from './session.ts'

/** Who keeps others waiting. No statements: they contain values. */
type Holder = {
  pid: number
  application: string
  user: string | null
  address: string | null
  state: string | null
  transaction_seconds: number | null
  is_waiting: boolean
}

/** The same holders are not reported again within this time, however many sessions wait for them. */
const QUIET_MS = 10_000
const MAX_HOLDERS = 5

/**
 * Logs who holds the lock that a session waits for; nothing when it waits for something else. Asks over `db`, which must not
 * be the pool whose connections wait.
 */
export function createLockReport(
  db: Database,
  log: { warn(fields: object, message: string): void },
  onError: (error: Error) => void,
): (session: Session) => void {
  const isDue = oncePer(QUIET_MS)
  return (session) => {
    findHolders(db, session).then((holders) => {
      if (holders.length > 0 && isDue(holders.map(({ pid }) => pid).join(' ')))
        log.warn(
          { part: 'database', held_by: holders },
          'waiting for a lock for more than 2 s; end the transaction that holds it, for example with pg_terminate_backend',
        )
    }, onError)
  }
}

async function findHolders(db: Database, { pid, startedAt }: Session): Promise<Holder[]> {
  const { rows } = await sql<Holder>`
    select distinct holder.pid, holder.application_name as application, holder.usename as user,
      host(holder.client_addr) as address, holder.state, holder.wait_event_type is not distinct from 'Lock' as is_waiting,
      extract(epoch from clock_timestamp() - holder.xact_start)::int as transaction_seconds
    from pg_stat_activity waiting, unnest(pg_blocking_pids(waiting.pid)) as blocking (pid)
      join pg_stat_activity holder on holder.pid = blocking.pid
    where waiting.pid = ${pid} and waiting.backend_start = ${startedAt}::timestamptz
    order by is_waiting, transaction_seconds desc nulls last, holder.pid
    limit ${MAX_HOLDERS}`.execute(db)
  // Those that are ahead of it and wait themselves say nothing, unless there is no other: a circle, or another lock.
  const holders = rows.filter((row) => !row.is_waiting)
  return holders.length > 0 ? holders : rows
}
