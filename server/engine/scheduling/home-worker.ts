import { sql } from 'kysely'
import { mayRun, type PlacedServer } from '#model/workers/placement.ts'
import type { Database } from '#platform/database/connect.ts'
import { HandOver, type JobContext } from '#platform/queue/handler.ts'
import { assignJob } from '#platform/queue/target-jobs.ts'
import type { SchedulingPass } from './scheduling-pass.ts'

// A worker may get the job of a target that belongs to another machine: the server was given to another worker
// since, a second machine came online, or the worker that ran it was lost.

/** The target runs on a machine that this worker is not on, and continues there. */
export class RunsElsewhere extends HandOver {
  override name = 'RunsElsewhere'
  readonly worker: string
  constructor(worker: string) {
    super(`This target belongs to the worker ${worker}.`)
    this.worker = worker
  }
}

type Home = PlacedServer & { ranOn: string | null }

/** Whether the worker of this name may run the target; otherwise the name of the one that started it, if any did. */
export async function findHome(
  pass: SchedulingPass,
  target: { id: number; isRunning: boolean },
  worker: string,
): Promise<{ isHere: true } | { isHere: false; worker: string | null }> {
  const { rows } = await sql<Home>`
    select s.provider_code = 'local' as "isLocal", s.worker_name as "workerName", t.worker_name as "ranOn"
    from targets t join servers s on s.id = t.server_id where t.id = ${target.id}`.execute(pass.trx)
  const { ranOn, ...server } = rows[0]!
  if (!server.isLocal) return { isHere: true }
  const home = server.workerName ?? ranOn
  // Started by a release that did not store where.
  if (target.isRunning && home === null) return { isHere: true }
  const isHere = mayRun(worker, server, target.isRunning ? ranOn : null, await pass.workers())
  return isHere ? { isHere } : { isHere, worker: home }
}

/** From now on only workers of this name take the job. */
export function sendJobTo(db: Database, job: JobContext, worker: string): Promise<void> {
  return db.transaction().execute(async (trx) => {
    await job.hold(trx)
    await assignJob(trx, job.jobId, worker)
  })
}
