import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { HELD, isHeld } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { readOldestReadySeconds, readQueueDepths } from '#platform/queue/queue-depths.ts'
import { checkBackups } from './backup-check.ts'
import { bounded } from './database-checks.ts'
import { checkEnvironments } from './environment-check.ts'
import { checkHooks } from './hook-check.ts'
import { counted, type Named, namesOf } from './names.ts'
import { type Check, failed, ok, warning } from './run-checks.ts'
import { checkTokens, type TokenCheckDeps } from './token-check.ts'
import { checkWorkers } from './worker-check.ts'

export type WorkDeps = TokenCheckDeps & {
  /** Whether a job went through the queue a moment ago. */
  isQueueWorking: () => Promise<boolean>
}

const LATE_SECONDS = 60
const MAX_COUNTED = 10_000

/** Work that does not get done. Names are shown to callers who may see what they name. */
export function workChecks({ db, tokenTargets, isQueueWorking }: WorkDeps, caller: Caller): Check[] {
  const checks: Check[] = [
    {
      name: 'workers',
      run: () => checkWorkers(db),
    },
    {
      name: 'queue',
      async run() {
        const [isWorking, oldest] = await Promise.all([isQueueWorking(), bounded(db, readOldestReadySeconds)])
        if (!isWorking)
          return failed(
            'No job went through the queue in the last seconds.',
            'Check that a worker runs, and its log.',
          )
        if (oldest === null || oldest < LATE_SECONDS) return ok('Jobs are processed without delay.')
        return warning(
          `The oldest job that is ready has waited for ${Math.round(oldest)} s.`,
          'Start more workers if this persists.',
        )
      },
    },
    {
      name: 'environments',
      run: () => checkEnvironments(db, caller),
    },
    {
      name: 'dead_letters',
      async run() {
        const depths = await bounded(db, (trx) => readQueueDepths({ db: trx, jobs }))
        const dead = depths.reduce((sum, depth) => sum + depth.dead, 0)
        return dead === 0
          ? ok('No job has failed for good.')
          : warning(
              `${counted(dead, 'job')} failed for good in the last 30 days.`,
              'See GET /jobs/dead-letters for their errors.',
            )
      },
    },
    {
      name: 'deliveries',
      async run() {
        const { failed: lost, late } = await bounded(db, countDeliveries)
        if (lost + late === 0) return ok('All notifications of the last day were delivered, or are on time.')
        return warning(
          `Deliveries: ${counted(lost, 'failure')} for good in the last day, ${late} more than a minute late.`,
          'Look for failing receivers on the overview page, and replay what they missed.',
        )
      },
    },
    {
      name: 'hooks',
      run: () => checkHooks(db, caller),
    },
    {
      name: 'tokens',
      run: () => checkTokens({ db, tokenTargets }, caller),
    },
    {
      name: 'servers',
      async run() {
        const servers = await bounded(db, findUnreachable)
        return servers.length === 0
          ? ok('No server was unreachable at its last run of the last day.')
          : warning(
              `${counted(servers.length, 'server')} ${servers.length === 1 ? 'was' : 'were'} unreachable at the last run${namesOf(caller, 'server:view', servers)}.`,
              'Check each with POST /servers/{id}/check, which reports the reason.',
            )
      },
    },
    {
      name: 'live_releases',
      async run() {
        const servers = await bounded(db, findLiveUnknown)
        return servers.length === 0
          ? ok('What is live is known for all servers.')
          : warning(
              `What is live is not known for ${counted(servers.length, 'server')}${namesOf(caller, 'server:view', servers)}.`,
              'Gantry keeps asking them. GET /applications/{id}/live reports the reason; make the server reachable, or deploy again.',
            )
      },
    },
    {
      name: 'backups',
      run: () => checkBackups(db),
    },
  ]
  return checks.map((check) => ({ ...check, needsDatabase: true }))
}

async function countDeliveries(db: Database): Promise<{ failed: number; late: number }> {
  // The id of the last attempt contains its time.
  const { rows } = await sql<{ failed: number; late: number }>`
    with ${sql.raw(HELD)}
    select (select count(*)::int from (
        select from hooks h join deliveries d on d.hook_id = h.id
        where h.type = 'outgoing' and h.deleted_at is null and d.state = 'failed'
          and d.last_request_id >= (select uuidv7(interval '-1 day')) limit ${MAX_COUNTED}) as lost) as failed,
      (select count(*)::int from (
        select hook_id, due_at, leased_until from deliveries where state = 'pending' limit ${MAX_COUNTED}) as d
      where due_at < now() - interval '1 minute' and coalesce(leased_until < now(), true)
        and not ${sql.raw(isHeld('d'))}) as late`.execute(db)
  return rows[0]!
}

/** `web-1 (shop)`: once per application. */
async function findLiveUnknown(db: Database): Promise<Named[]> {
  const { rows } = await sql<Named>`
    select s.name || ' (' || app.name || ')' as name, p.organization_id, e.project_id, s.environment_id
    from unknown_live_releases unknown
    join application_servers link using (application_id, server_id)
    join servers s on s.id = unknown.server_id join applications app on app.id = unknown.application_id
    join environments e on e.id = s.environment_id join projects p on p.id = e.project_id
    order by s.name, app.name limit ${MAX_COUNTED}`.execute(db)
  return rows
}

/** Of the newest runs only: an index leads to them, however many there are. */
async function findUnreachable(db: Database): Promise<Named[]> {
  const { rows } = await sql<Named>`
    with ended as (
      select id from actions where completed_at > now() - interval '1 day'
      order by completed_at desc limit ${MAX_COUNTED}
    ),
    last as (
      select distinct on (t.server_id) t.server_id, t.status_reason_code
      from ended join targets t on t.action_id = ended.id where t.completed_at is not null
      order by t.server_id, t.completed_at desc, t.id desc
    )
    select s.name, p.organization_id, e.project_id, s.environment_id
    from last join servers s on s.id = last.server_id
    join environments e on e.id = s.environment_id join projects p on p.id = e.project_id
    where last.status_reason_code = 'FAILED_UNREACHABLE' and s.deleted_at is null
    order by s.name, s.id`.execute(db)
  return rows
}
