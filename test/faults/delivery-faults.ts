// A worker that delivers and is killed again and again, and a database of its own that goes away.
import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { startEmbeddedPostgres } from '#platform/database/embedded/start.ts'
import { urlOf } from '#test/support/database.ts'
import { later } from '#test/support/later.ts'
import { type GantryProcess, temporaryHome } from '#test/support/process.ts'
import { openRunWorld } from '#test/support/run-world.ts'
import { until } from '#test/support/until.ts'
import type { openFailingReceiver } from './failing-receiver.ts'
import { persist, shortenPauses } from './moving-actions.ts'

const MAX_WAITING = 600
const MAX_MS = 60_000
const DRAINED_WITHIN_MS = 180_000

type Receiver = Awaited<ReturnType<typeof openFailingReceiver>>

/** The API on a database that can be stopped; nothing delivers yet. */
export async function openStoppableWorld(t: Parameters<typeof later>[0]) {
  const databaseHome = await temporaryHome(t)
  // Nothing is lost when only processes end, and the disk is spared.
  const startDatabase = () => startEmbeddedPostgres({ home: databaseHome, settings: { fsync: 'off' } })
  let server = await startDatabase()
  later(t, () => server.stop())
  const world = await openRunWorld(t, {
    roles: ['api'],
    database: server.connection,
    environment: { LOG_LEVEL: 'debug' },
  })
  return {
    world,
    connection: () => server.connection,
    async restart() {
      await server.stop()
      server = await startDatabase()
    },
  }
}

type StoppableWorld = Awaited<ReturnType<typeof openStoppableWorld>>

/** Everything that can happen to a process that delivers to this receiver. */
export async function openDeliveryFaults(stage: StoppableWorld, receiver: Receiver) {
  const { db } = stage.world
  const { arrivals } = receiver
  const processes = [...stage.world.processes]
  let worker = await startWorker()

  /** Resolves with what the last worker that was killed had under way, and when the next one had begun. */
  async function causeFaults() {
    await killWorker(1_200)
    await crashDatabase(2_400)
    await killWorker(3_600)
    await killWorker(5_000)
    await restartDatabase(6_200)
    await killWorker(7_500)
    const left = await killWorker(9_000, { waitsForLeases: true })
    return { left, tookOverAt: Date.now() }
  }

  /**
   * Kills the worker while it waits for an answer, and starts another. What it had under way is free at once, as if
   * the time of a lease had passed; or in its time.
   */
  async function killWorker(
    afterArrivals: number,
    { waitsForLeases = false } = {},
  ): Promise<{ id: string; leased_until: string }[]> {
    await receiver.strikeAfter(afterArrivals, () => worker.child.kill('SIGKILL'))
    await worker.kill()
    // The database may still be at the last statement of a process that has gone, which stores results.
    await until('its last statements have ended', MAX_MS, async () => (await countStatements()) === 0)
    const leased = await db
      .selectFrom('deliveries')
      .select(['id', sql<string>`leased_until`.as('leased_until')])
      .where('leased_until', 'is not', null)
      .execute()
    assert.ok(leased.length > 0, 'it was killed in the middle of something')
    if (!waitsForLeases)
      await sql`update deliveries set leased_until = now() - interval '1 second' where leased_until is not null`.execute(
        db,
      )
    worker = await startWorker()
    return leased
  }

  async function startWorker(): Promise<GantryProcess> {
    const started = await stage.world.start('worker', { DATABASE_URL: urlOf(stage.connection()) })
    processes.push(started)
    return started
  }

  /** Of workers, on deliveries: claims and results. */
  async function countStatements(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*) from pg_stat_activity
      where datname = current_database() and state = 'active' and query ~ 'with (capacity|finished) as materialized' and pid <> pg_backend_pid()`.execute(
      db,
    )
    return rows[0]!.count
  }

  async function restartDatabase(afterArrivals: number): Promise<void> {
    await until('enough has arrived', DRAINED_WITHIN_MS, () => arrivals.length >= afterArrivals)
    await stage.restart()
  }

  /** It ends at once, in the middle of every statement, and is started again by its supervisor. */
  async function crashDatabase(afterArrivals: number): Promise<void> {
    await until('enough has arrived', DRAINED_WITHIN_MS, () => arrivals.length >= afterArrivals)
    const before = await readPostmaster()
    process.kill(before, 'SIGQUIT')
    await until('another has begun', MAX_MS, async () => (await persist(readPostmaster)) !== before)
  }

  async function readPostmaster(): Promise<number> {
    const { rows } = await sql<{ pid: number }>`
      select split_part(pg_read_file('postmaster.pid'), E'\n', 1)::int as pid`.execute(db)
    return rows[0]!.pid
  }

  /** So that there always is something to send, and faults meet all kinds of moves. */
  async function keepPace(): Promise<void> {
    await persist(() => shortenPauses(db))
    await until('most is on its way', DRAINED_WITHIN_MS, () =>
      persist(async () => (await countWaiting()) < MAX_WAITING),
    )
  }

  async function countWaiting(): Promise<number> {
    const { rows } = await sql<{ count: number }>`
      select count(*) from deliveries where state = 'pending' and due_at <= now()`.execute(db)
    return rows[0]!.count
  }

  async function isDrained(): Promise<boolean> {
    await shortenPauses(db)
    const { rows } = await sql<{ is_drained: boolean }>`
      select not exists (select from deliveries where state = 'pending') as is_drained`.execute(db)
    return rows[0]!.is_drained
  }

  return {
    /** All that ran, whether it still does or not. */
    processes,
    causeFaults,
    keepPace,
    untilDrained: () => until('everything is delivered', DRAINED_WITHIN_MS, () => persist(isDrained)),
    stopWorker: () => worker.stop(),
  }
}
