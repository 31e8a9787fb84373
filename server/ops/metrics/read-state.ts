import { statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import { findStalledEnvironments } from '#model/actions/stalled-environments.ts'
import { HELD, isHeld } from '#model/hooks/rate-budgets.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import { readRetentionTotals } from '#ops/retention/prune.ts'
import type { Database } from '#platform/database/connect.ts'
import { readNewestBackup } from '#platform/database/newest-backup.ts'
import type { OutageKind } from '#platform/database/outage-kinds.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { countNewDeadLetters, readOldestReadySeconds, readQueueDepths } from '#platform/queue/queue-depths.ts'
import { GATES, type Gate } from '#platform/vocabulary.ts'

/** The state of the whole installation, read from the database. */
export type InstallationState = Awaited<ReturnType<typeof readInstallation>>

/** One after the other: a scrape takes one connection, not all of them. */
export async function readInstallation(db: Database) {
  const workers = await readLiveWorkers(db)
  return {
    queueDepths: await readQueueDepths({ db, jobs }),
    /** How long the oldest job that could run has waited; null when none waits. */
    oldestReadySeconds: await readOldestReadySeconds(db),
    /** Jobs that failed their last attempt within the last hour. */
    newDeadLetters: await countNewDeadLetters(db),
    /** Environments where work waits and nothing completes. */
    stalledEnvironments: (await findStalledEnvironments(db)).length,
    /** Null when none was recorded. */
    newestBackupAt: (await readNewestBackup(db))?.made_at ?? null,
    deliveries: await readDeliveryDepths(db),
    connections: await countConnections(db),
    workers: { online: workers.length, draining: workers.filter(({ draining }) => draining).length },
    /** Targets that no worker can take; servers, counted once per application, whose live release is not known. */
    ...(await readUnplaced(db)),
    gates: await readGateDepths(db),
    retention: await readRetentionTotals(db),
  }
}

const MAX_COUNTED = 100_000

/**
 * `late`: due a minute ago, without an attempt in progress, and not because of a rate limit. `limited`: those that wait for
 * one, by the origin that has it.
 */
export async function readDeliveryDepths(db: Database) {
  const { rows } = await sql<{ pending: number; late: number; failingHooks: number }>`
    with ${sql.raw(HELD)}
    select count(*)::int as pending, (select count(*)::int from hook_health) as "failingHooks",
      count(*) filter (where due_at < now() - interval '1 minute' and coalesce(leased_until < now(), true)
        and not ${sql.raw(isHeld('d'))})::int as late
    from (select hook_id, due_at, leased_until from deliveries where state = 'pending' limit ${MAX_COUNTED}) as d`.execute(
    db,
  )
  const limited = await sql<{ origin: string; deliveries: number }>`
    with ${sql.raw(HELD)}
    select held.origin, sum(waiting.deliveries)::int as deliveries from held cross join lateral (
      select count(*) as deliveries from (
        select from deliveries d where d.hook_id = held.hook_id and d.state = 'pending' limit ${MAX_COUNTED}) as counted
    ) as waiting
    where held.is_paused group by held.origin order by 2 desc`.execute(db)
  return { ...rows[0]!, limited: limited.rows }
}

/**
 * Runs at each gate, started ones of which servers wait there included, and how long ago the oldest was created; of every
 * pipeline, an index knows the oldest.
 */
async function readGateDepths(db: Database) {
  const { rows } = await sql<{ gate: Gate; runs: number; oldestSeconds: number }>`
    select g.gate, started.count + (select count(*)::int from (
        select from actions where gate = g.gate limit ${MAX_COUNTED}) as counted) as runs,
      coalesce(extract(epoch from now() - least(started.first, (
        select min(first.created_at) from pipelines p cross join lateral (
          select created_at from actions where gate = g.gate and pipeline_id = p.id order by id limit 1
        ) as first)))::float8, 0) as "oldestSeconds"
    from unnest(${Object.keys(GATES)}::text[]) as g (gate) cross join lateral (
      select count(*)::int, min(a.created_at) as first from actions a where a.gate is null and a.has_place
        and a.id in (select t.action_id from targets t where t.gate = g.gate)
    ) as started`.execute(db)
  return rows
}

/** Hooks that are connected to repositories, by state. */
async function countConnections(db: Database) {
  const { rows } = await sql<{ state: string; hooks: number }>`
    select state, count(*)::int as hooks from hook_connections group by state`.execute(db)
  return rows
}

/** There is an index for the targets alone. */
async function readUnplaced(db: Database) {
  const { rows } = await sql<{
    targetsWithoutWorker: number
    targetsReconnecting: number
    serversLiveUnknown: number
  }>`
    select (select count(*) from targets where status_reason_code = 'WAITING_WORKER') as "targetsWithoutWorker",
      (select count(*) from targets where status_reason_code = 'RECONNECTING') as "targetsReconnecting",
      (select count(*) from unknown_live_releases
        join application_servers using (application_id, server_id)) as "serversLiveUnknown"`.execute(db)
  return rows[0]!
}

/** The state of this process and its machine. */
export type ProcessState = {
  isReady: boolean
  pool: { max: number; open: number; idle: number; waiting: number; failures: number }
  /** Since the start, by kind. */
  databaseFailures: Readonly<Record<OutageKind, number>>
  /** The disk of GANTRY_HOME; null when it cannot be read. */
  disk: { free: number; size: number } | null
}

export async function readDisk(home: string): Promise<ProcessState['disk']> {
  const { bavail, blocks, bsize } = await statfs(home).catch(() => ({ bavail: 0, blocks: 0, bsize: 0 }))
  return blocks === 0 ? null : { free: bavail * bsize, size: blocks * bsize }
}
