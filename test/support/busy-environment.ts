// One environment that is never idle: calls start runs all the time, on any number of workers at the same time.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'
import { later } from './later.ts'
import { openOwnPostgres } from './own-postgres.ts'
import type { GantryProcess } from './process.ts'
import { openRunWorld, type RunWorld } from './run-world.ts'
import { startCalls } from './steady-calls.ts'
import { until } from './until.ts'

/** It is tried again and again. */
const FROZEN_WITHIN_MS = 60_000

export const UNLIMITED = { server: { max_parallel_actions: 0 }, pipeline: { max_parallel_actions: 0 } }

/** `major`: of PostgreSQL. An API process; the workers are started by the test. */
export async function openBusyEnvironment(
  t: TestContext,
  major: string,
  environment: Record<string, string> = {},
) {
  const server = await openOwnPostgres(t, undefined, undefined, major)
  await server.start()
  const { port } = server
  const database = { host: '127.0.0.1', port, user: 'gantry', database: 'postgres', ssl: false }
  const world = await openRunWorld(t, {
    roles: ['api'],
    database,
    environment: {
      DATABASE_URL: urlOf(port),
      GANTRY_WORKER_NAME: 'm1',
      ...environment,
    },
  })
  const file = join(world.notes, 'ran')
  const step = { name: 'note', command: `echo "$GANTRY_ACTION_ID" >> ${file}`, idempotent: true }
  const { pipelineId, environmentId } = await world.makeCustom([step], UNLIMITED)
  const hooks = [await world.makeHook(pipelineId)]
  return {
    ...world,
    server,
    environmentId,
    file,
    /** So many per second, as long as they are answered. */
    startCalls(perSecond: number, urls = () => world.processes.flatMap(({ url }) => url ?? [])) {
      const calls = startCalls({ urls, hooks, senders: perSecond, gapMs: 1_000 })
      later(t, () => calls.stop().catch(() => {}))
      return calls
    },
  }
}

export const urlOf = (port: number) => `postgres://gantry@127.0.0.1:${port}/postgres?sslmode=disable`

/** Takes a core from everybody else until the test ends, or the returned function is called. */
export function startBusyLoop(t: TestContext): () => void {
  const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' })
  later(t, async () => void child.kill('SIGKILL'))
  return () => child.kill('SIGKILL')
}

/** The longest that a running job has been without a heartbeat, watched until it is stopped. In seconds. */
export function watchHeartbeats(db: Database) {
  let oldest = 0
  let isOver = false
  const watching = (async () => {
    while (!isOver) {
      const { rows } = await sql<{ seconds: number | null }>`
        select extract(epoch from max(queue.job_now() - heartbeat_on))::float8 as seconds, pg_sleep(0.2)
        from queue.job where state = 'active'`.execute(db)
      oldest = Math.max(oldest, rows[0]?.seconds ?? 0)
    }
  })()
  return async (): Promise<number> => {
    isOver = true
    await watching
    return oldest
  }
}

/** The longest time without a run that completed, between two times of the database. In seconds. */
export async function longestPause(db: Database, from: string, until: string): Promise<number> {
  const { rows } = await sql<{ seconds: number }>`
    select extract(epoch from max(at - before))::float8 as seconds from (
      select at, lag(at) over (order by at) as before from (
        select completed_at as at from actions where completed_at between ${from} and ${until}
        union all values (${from}::timestamptz), (${until}::timestamptz)
      ) as times
    ) as pauses`.execute(db)
  return rows[0]!.seconds
}

export async function timeOf(db: Database): Promise<string> {
  const { rows } = await sql<{ at: string }>`select clock_timestamp() as at`.execute(db)
  return rows[0]!.at
}

/** The first words of every line that a process has logged as a problem. */
export function problemsIn({ log }: RunWorld['processes'][number]): string[] {
  return log.map((line) => JSON.parse(line)).flatMap(({ level, msg }) => (level >= 40 ? [msg] : []))
}

/** Until it stands still with the lock: others of that moment are faster than this. */
export async function freezeWithLock(db: Database, { child }: GantryProcess): Promise<void> {
  await until('it is frozen with the lock', FROZEN_WITHIN_MS, async () => {
    child.kill('SIGSTOP')
    await sql`select pg_sleep(0.3)`.execute(db)
    const { rows } = await sql`
      select from pg_stat_activity a join pg_locks l on l.pid = a.pid and l.locktype = 'advisory' and l.granted
      where a.datname = current_database() and a.state = 'idle in transaction' and clock_timestamp() - a.state_change > interval '0.25 seconds'`.execute(
      db,
    )
    if (rows.length > 0) return true
    child.kill('SIGCONT')
    await delay(Math.random() * 50)
    return false
  })
}

export function untilEnded(db: Database, withinMs: number): Promise<boolean> {
  return until('all runs have ended', withinMs, async () => {
    const { rows } = await sql`
      select from actions where status in ('pending', 'waiting', 'queued', 'in-progress') limit 1`.execute(db)
    return rows.length === 0
  })
}

/** One run for each call, all of them completed. */
export async function assertCompleted(db: Database, ids: readonly number[]): Promise<void> {
  const actions = await db.selectFrom('actions').select(['id', 'status', 'status_reason_code']).execute()
  assert.equal(actions.length, ids.length, 'one run for each call')
  assert.deepEqual(
    actions.filter(({ status }) => status !== 'completed'),
    [],
  )
}
