import { sql } from 'kysely'
import type { Caller } from '#access/authorization/caller.ts'
import { findStalledEnvironments, STALLED_AFTER_SECONDS } from '#model/actions/stalled-environments.ts'
import { HELD, isHeld } from '#model/hooks/rate-budgets.ts'
import type { Database } from '#platform/database/connect.ts'
import { BACKUP_OLD_AFTER_HOURS, readNewestBackup } from '#platform/database/newest-backup.ts'
import { jobs } from '#platform/queue/jobs.ts'
import { readOldestReadySeconds, readQueueDepths } from '#platform/queue/queue-depths.ts'
import { checkConnections } from './connection-check.ts'
import { bounded } from './database-checks.ts'
import { checkHooks } from './hook-check.ts'
import { type Check, counted, type Finding, failed, type Named, namesOf, ok, warning } from './run-checks.ts'
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
  const checks: Record<string, Check['run']> = {
    workers: () => checkWorkers(db),
    async queue() {
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
    environments: () => checkEnvironments(db, caller),
    async dead_letters() {
      const depths = await bounded(db, (trx) => readQueueDepths({ db: trx, jobs }))
      const dead = depths.reduce((sum, depth) => sum + depth.dead, 0)
      return dead === 0
        ? ok('No job has failed permanently.')
        : warning(
            `${counted(dead, 'job')} failed permanently in the last 30 days.`,
            'See GET /jobs/dead-letters for their errors.',
          )
    },
    async deliveries() {
      const { failed: lost, late } = await bounded(db, countDeliveries)
      if (lost + late === 0) return ok('All notifications of the last day were delivered, or are on time.')
      return warning(
        `Deliveries: ${lost} failed permanently in the last day, ${late} more than a minute late.`,
        'Look for failing receivers on the overview page, and replay what they missed.',
      )
    },
    hooks: () => checkHooks(db, caller),
    connections: () => checkConnections(db, caller),
    tokens: () => checkTokens({ db, tokenTargets }, caller),
    async servers() {
      const servers = await bounded(db, findUnreachable)
      return servers.length === 0
        ? ok('No server was unreachable at its last run of the last day.')
        : warning(
            `${counted(servers.length, 'server')} ${servers.length === 1 ? 'was' : 'were'} unreachable at the last run${namesOf(caller, 'server:view', servers)}.`,
            'Check each with POST /servers/{id}/check, which reports the reason.',
          )
    },
    async detached_steps() {
      const servers = await bounded(db, findAttached)
      return servers.length === 0
        ? ok('Steps on SSH servers outlive a lost connection or worker.')
        : warning(
            `On ${counted(servers.length, 'server')}, steps end with their connection${namesOf(caller, 'server:view', servers)}.`,
            'POST /servers/{id}/check reports the reason.',
          )
    },
    async live_releases() {
      const servers = await bounded(db, findLiveUnknown)
      return servers.length === 0
        ? ok('The live release of every server is known.')
        : warning(
            `The live release is unknown on ${counted(servers.length, 'server')}${namesOf(caller, 'server:view', servers)}.`,
            'Gantry keeps asking them. GET /applications/{id}/live reports the reason; make the server reachable, or deploy again.',
          )
    },
    backups: () => checkBackups(db),
  }
  return Object.entries(checks).map(([name, run]) => ({ name, needsDatabase: true, run }))
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

async function findAttached(db: Database): Promise<Named[]> {
  const { rows } = await sql<Named>`
    select s.name, p.organization_id, e.project_id, s.environment_id
    from attached_servers attached join servers s on s.id = attached.server_id and s.deleted_at is null
    join environments e on e.id = s.environment_id join projects p on p.id = e.project_id
    order by s.name, s.id limit ${MAX_COUNTED}`.execute(db)
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

const HOUR = 3_600

/** A new installation has none, and nothing to lose yet: that is a hint, and no warning. */
async function checkBackups(db: Database) {
  const newest = await bounded(db, readNewestBackup)
  if (newest === null)
    return ok(
      'No backup is recorded yet: gantry-server backup makes one, gantry-server backup-made records others.',
    )
  const hours = Math.floor(newest.age_seconds / HOUR)
  if (newest.age_seconds <= BACKUP_OLD_AFTER_HOURS * HOUR)
    return ok(`The newest backup is ${hours === 1 ? '1 hour' : `${hours} hours`} old.`)
  return warning(
    `The newest backup is ${hours} hours old.`,
    'Find out why no backup succeeds. If another tool makes them, let it run gantry-server backup-made after each.',
  )
}

/** Environments where work waits and nothing completes. */
async function checkEnvironments(db: Database, caller: Caller): Promise<Finding> {
  const stalled = await bounded(db, findStalled)
  if (stalled.length === 0) return ok('Work completes in every environment that has some.')
  return failed(
    `Work waits in ${counted(stalled.length, 'environment')}, and nothing has completed there for ${STALLED_AFTER_SECONDS / 60} minutes${namesOf(caller, 'environment:view', stalled)}.`,
    'Open a waiting run, which says what it waits for. Check that a worker is online, its log, and whether it names a lock ("waiting for a lock").',
  )
}

/** `Production (12 runs)` */
async function findStalled(db: Database): Promise<Named[]> {
  const stalled = await findStalledEnvironments(db)
  if (stalled.length === 0) return []
  const ids = stalled.map(({ environment_id }) => environment_id)
  const { rows } = await sql<Named>`
    select e.name, p.organization_id, e.project_id, e.id as environment_id
    from environments e join projects p on p.id = e.project_id where e.id = any(${ids}::bigint[])`.execute(db)
  const byId = new Map(rows.map((row) => [row.environment_id, row]))
  return stalled.flatMap(({ environment_id, waiting }) => {
    const found = byId.get(environment_id)
    return found ? [{ ...found, name: `${found.name} (${counted(waiting, 'run')})` }] : []
  })
}
