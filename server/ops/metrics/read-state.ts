import { statfs } from 'node:fs/promises'
import { sql } from 'kysely'
import { readDeliveryDepths } from '#engine/outgoing/delivery-depths.ts'
import { findStalledEnvironments } from '#model/actions/stalled-environments.ts'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import { readRetentionTotals } from '#ops/retention/prune.ts'
import type { Database } from '#platform/database/connect.ts'
import { readNewestBackup } from '#platform/database/newest-backup.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { countNewDeadLetters, readOldestReadySeconds, readQueueDepths } from '#platform/queue/queue-depths.ts'
import type { InstallationState, ProcessState } from './state-metrics.ts'

/** One after the other: a scrape takes one connection, not all of them. */
export async function readInstallation(db: Database): Promise<InstallationState> {
  const queueDepths = await readQueueDepths({ db, jobs })
  const oldestReadySeconds = await readOldestReadySeconds(db)
  const workers = await readLiveWorkers(db)
  return {
    queueDepths,
    oldestReadySeconds,
    newDeadLetters: await countNewDeadLetters(db),
    stalledEnvironments: (await findStalledEnvironments(db)).length,
    newestBackupAt: (await readNewestBackup(db))?.made_at ?? null,
    deliveries: await readDeliveryDepths(db),
    workers: { online: workers.length, draining: workers.filter(({ draining }) => draining).length },
    targetsWithoutWorker: await countTargetsWithoutWorker(db),
    serversLiveUnknown: await countLiveUnknown(db),
    retention: await readRetentionTotals(db),
  }
}

/** There is an index for these alone. */
async function countTargetsWithoutWorker(db: Database): Promise<number> {
  const { rows } = await sql<{ targets: number }>`
    select count(*) as targets from targets where status_reason_code = 'WAITING_WORKER'`.execute(db)
  return rows[0]!.targets
}

async function countLiveUnknown(db: Database): Promise<number> {
  const { rows } = await sql<{ servers: number }>`
    select count(*) as servers from unknown_live_releases
    join application_servers using (application_id, server_id)`.execute(db)
  return rows[0]!.servers
}

export async function readDisk(home: string): Promise<ProcessState['disk']> {
  const { bavail, blocks, bsize } = await statfs(home).catch(() => ({ bavail: 0, blocks: 0, bsize: 0 }))
  return blocks === 0 ? null : { free: bavail * bsize, size: blocks * bsize }
}
