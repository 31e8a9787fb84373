import { sql } from 'kysely'
import { readLiveWorkers } from '#model/workers/live-workers.ts'
import { type LiveWorker, placeTarget } from '#model/workers/placement.ts'
import type { Database } from '#platform/database/connect.ts'
import { bounded } from './database-checks.ts'
import { counted, failed, ok, warning } from './run-checks.ts'

/** Whether there are workers, and whether every local server has one. */
export async function checkWorkers(db: Database) {
  const { workers, locals } = await bounded(db, async (trx) => ({
    workers: await readLiveWorkers(trx),
    locals: await readLocalServers(trx),
  }))
  if (workers.length === 0)
    return failed(
      'No worker is online: runs do not start, and deliveries are not sent.',
      'Start a process with GANTRY_ROLE=worker, or one with GANTRY_ROLE=all.',
    )
  const online = `${counted(workers.length, 'worker')} online${namesOf(workers)}.`
  const draining = workers.filter((worker) => worker.draining).length
  if (draining === workers.length)
    return warning(
      `${online} All of them drain: runs do not start.`,
      'Start another one, or end the draining with DELETE /workers/{id}/drain.',
    )
  const homeless = locals.filter(
    ({ workerName }) => placeTarget({ isLocal: true, workerName }, workers).kind === 'none',
  )
  if (homeless.length > 0)
    return warning(
      `${online} Runs on local servers do not start: ${homeless.map(describe).join(', ')}.`,
      'Start a worker on that machine, or set worker_name of the server to the name of one that is online.',
    )
  return ok(draining === 0 ? online : `${online} ${counted(draining, 'worker')} draining.`)
}

type LocalServers = { workerName: string | null; servers: number }

function describe({ workerName, servers }: LocalServers): string {
  return workerName === null
    ? `${counted(servers, 'server')} without a worker_name, while workers have several names`
    : `${counted(servers, 'server')} of the worker ${workerName}, which is not online or drains`
}

/** `: m1 (2), m2`; nothing with the embedded database. */
function namesOf(workers: readonly LiveWorker[]): string {
  const byName = Map.groupBy(workers, ({ name }) => name)
  byName.delete(null)
  const names = [...byName].map(([name, { length }]) => (length === 1 ? name : `${name} (${length})`))
  return names.length === 0 ? '' : `: ${names.sort().join(', ')}`
}

async function readLocalServers(db: Database): Promise<LocalServers[]> {
  const { rows } = await sql<LocalServers>`
    select worker_name as "workerName", count(*)::int as servers from servers
    where provider_code = 'local' and deleted_at is null group by worker_name order by worker_name`.execute(
    db,
  )
  return rows
}
