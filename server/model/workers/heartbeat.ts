import { randomUUID } from 'node:crypto'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import type { Listener } from '#platform/database/listen.ts'
import { within } from '#platform/queue/repeat.ts'
import { IS_ONLINE } from './live-workers.ts'

// Which workers are online: each one stores a heartbeat, and one that misses three counts as offline. Scheduling
// decides by it where targets of local servers may run. Jobs are reassigned by heartbeats of their own, which the
// queue sends.

const HEARTBEAT_MS = 10_000
/** Changes of the number of running targets are stored within this time. */
const TOUCH_MS = 1_000
/** A stop does not wait longer for an unreachable database: the missing heartbeat will tell. */
const SIGN_OFF_MS = 1_000
/** Workers whose draining was switched on or off; the message is the id. */
const DRAIN_CHANNEL = 'worker_drains'

export type HeartbeatOptions = {
  /** The machine: workers on it share the name. Null with the embedded database, where there is no other one. */
  name: string | null
  version: string
  /** How many targets it runs at the same time. */
  capacity: number
  runningTargets: () => number
  /** There are no other workers: those that the table still has ended without signing off. */
  isAlone?: boolean
  listener?: Listener
  /** It came online, at first or after a pause: what waits for it may start. */
  onOnline?: () => Promise<void>
  /** Draining was switched on or off. */
  onDraining?: (draining: boolean) => void
  onError: (error: Error) => void
  heartbeatMs?: number
}

/** Reports this worker as online until it is stopped. A heartbeat that cannot be stored is reported and tried again. */
export async function startHeartbeat(db: Database, options: HeartbeatOptions) {
  const id = randomUUID()
  let isStopping = false
  let isDraining = false
  let last = Promise.resolve()
  let touched: NodeJS.Timeout | undefined

  async function beat(): Promise<void> {
    const running = options.runningTargets()
    const { draining, appeared } = await storeHeartbeat(db, { ...options, id, running, isStopping })
    if (draining !== isDraining) {
      isDraining = draining
      options.onDraining?.(draining)
    }
    // It may have to wait for others. The next heartbeat must not.
    if (appeared) void options.onOnline?.().catch(options.onError)
  }
  const next = () => {
    last = last.then(beat).catch(options.onError)
    return last
  }

  if (options.isAlone) await sql`delete from workers`.execute(db)
  await options.listener?.subscribe(DRAIN_CHANNEL, {
    onNotify: (drained) => void (drained === id && next()),
    onReconnect: () => void next(),
  })
  await next()
  const timer = setInterval(next, options.heartbeatMs ?? HEARTBEAT_MS)
  timer.unref()
  return {
    id,
    /** The number of running targets has changed. */
    touch(): void {
      touched ??= setTimeout(() => {
        touched = undefined
        void next()
      }, TOUCH_MS).unref()
    },
    /** It is going to stop: nothing new is meant for it. */
    async leave(): Promise<void> {
      isStopping = true
      await within(SIGN_OFF_MS, next())
    },
    async stop(): Promise<void> {
      clearInterval(timer)
      clearTimeout(touched)
      const signOff = last.then(() => db.deleteFrom('workers').where('id', '=', id).execute())
      await within(SIGN_OFF_MS, signOff.catch(options.onError))
    },
  }
}

type Beat = Pick<HeartbeatOptions, 'name' | 'version' | 'capacity'> & {
  id: string
  running: number
  isStopping: boolean
}

async function storeHeartbeat(db: Database, { id, isStopping, ...beat }: Beat) {
  const { rows } = await sql<{ draining: boolean; appeared: boolean }>`
    with dead as (
      delete from workers where seen_at < now() - interval '1 day' and id <> ${id}
    ), was_online as (
      select from workers where id = ${id} and ${IS_ONLINE}
    )
    insert into workers (id, name, version, capacity, running_targets, draining_since, reattaches)
    values (${id}, ${beat.name}, ${beat.version}, ${beat.capacity}, ${beat.running},
      case when ${isStopping} then now() end, true)
    on conflict (id) do update set seen_at = now(), running_targets = excluded.running_targets,
      draining_since = coalesce(workers.draining_since, excluded.draining_since)
    returning draining_since is not null as draining, not exists (select from was_online) as appeared`.execute(
    db,
  )
  return rows[0]!
}

/** False when there is no such worker. Draining one that drains already changes nothing. */
export async function setDraining(db: Database, id: string, draining: boolean): Promise<boolean> {
  const { rows } = await sql`
    with changed as (
      update workers set draining_since = case when ${draining} then coalesce(draining_since, now()) end
      where id = ${id} and ${IS_ONLINE} returning id
    )
    select pg_notify(${DRAIN_CHANNEL}, id::text) from changed`.execute(db)
  return rows.length > 0
}
