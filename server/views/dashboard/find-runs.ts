import { type RawBuilder, sql } from 'kysely'
import { ANY_ID, newestInPartition, oldestInPartition } from '#model/actions/partition.ts'
import {
  type ActionRow,
  permalink,
  presentResource,
  presentStatus,
  presentType,
} from '#model/actions/present.ts'
import type { Visibility } from '#model/actions/visibility.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Status } from '#platform/database/tables.ts'
import { COUNT_LIMIT } from '#platform/http/pagination.ts'
import type { OverviewRun } from './schemas.ts'

const MAX_RUNS = 50
const MAX_FAILURES = 20

const COLUMNS = [
  'id',
  'environment_id',
  'pipeline_id',
  'type',
  'deployment',
  'status',
  'status_reason_code',
  'trigger_type',
  'trigger_name',
  'started_at',
  'completed_at',
  'created_at',
] as const

type RunRow = Pick<ActionRow, (typeof COLUMNS)[number]>

const SELECTED = sql.join(COLUMNS.map((column) => sql.ref(`a.${column}`)))

/** Some of the runs, and how many there are: exact up to the limit of counting. */
type Found = { rows: RunRow[]; count: number }

const KEY = ['pipeline_id', 'status'] as const
const newest = (limit: number) => newestInPartition(KEY, { ids: ANY_ID, limit })

/** Runs in progress, newest first. */
export function findRunning(db: Database, environmentIds: readonly number[]): Promise<Found> {
  return findRuns(db, partitionsOf(environmentIds, ['in-progress']), newest(MAX_RUNS), sql`desc`)
}

/** Runs that have not started, oldest first: each waits for a reason, which its status tells. */
export function findWaiting(db: Database, environmentIds: readonly number[]): Promise<Found> {
  const partitions = partitionsOf(environmentIds, ['pending', 'queued', 'waiting'])
  return findRuns(db, partitions, oldestInPartition(KEY, MAX_RUNS), sql`asc`)
}

function partitionsOf(environmentIds: readonly number[], statuses: Status[]): RawBuilder<unknown> {
  return sql`(
    select p.id as pipeline_id, s.status from pipelines p, unnest(${statuses}::text[]) as s (status)
    where p.environment_id = any(${environmentIds}::bigint[])) as partition`
}

async function findRuns(
  db: Database,
  partitions: RawBuilder<unknown>,
  heads: RawBuilder<unknown>,
  direction: RawBuilder<unknown>,
): Promise<Found> {
  const { rows } = await sql<RunRow>`
    select ${SELECTED} from actions a where a.id = any(array(
      select heads.id from ${partitions}, lateral ${heads} as heads
      order by heads.id ${direction} limit ${MAX_RUNS}::bigint
    )) order by a.id ${direction}`.execute(db)
  return withCount(db, rows, MAX_RUNS, sql`${partitions}, lateral ${newest(COUNT_LIMIT)} as heads`)
}

const CANCELED = sql`a.status_reason_code = 'FAILED_CANCELLED'`
/** Neither canceled nor fixed by a later run of the pipeline. */
const UNFIXED = sql`a.status_reason_code <> 'FAILED_CANCELLED' and not exists (select from actions later
  where later.pipeline_id = a.pipeline_id and later.status = 'completed' and later.id > a.id)`

/** Runs that failed within a day, latest failure first. One index scan per environment (see partition.ts). */
export async function findFailures(db: Database, environmentIds: readonly number[]): Promise<Found> {
  const { rows } = await sql<RunRow>`
    select ${SELECTED} from ${failedLastDay(environmentIds, UNFIXED, MAX_FAILURES)}
    order by a.completed_at desc, a.id desc limit ${MAX_FAILURES}::bigint`.execute(db)
  return withCount(db, rows, MAX_FAILURES, failedLastDay(environmentIds, UNFIXED, COUNT_LIMIT))
}

/** SQL: the runs that were canceled within a day, this many of each environment at most. */
export function canceledLastDay(environmentIds: readonly number[], limit: number): RawBuilder<unknown> {
  return failedLastDay(environmentIds, CANCELED, limit)
}

/** Newest first. */
export async function findByIds(db: Database, ids: readonly number[]): Promise<Found> {
  if (ids.length === 0) return { rows: [], count: 0 }
  const { rows } = await sql<RunRow>`
    select ${SELECTED} from actions a where a.id = any(${ids}::bigint[]) order by a.id desc`.execute(db)
  return { rows, count: rows.length }
}

/** A list that is not full has them all; otherwise they are counted in the relation `all`. */
async function withCount(db: Database, rows: RunRow[], limit: number, all: RawBuilder<unknown>) {
  return { rows, count: rows.length < limit ? rows.length : await countIn(db, all) }
}

async function countIn(db: Database, all: RawBuilder<unknown>): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*) as count from (select from ${all} limit ${COUNT_LIMIT}::bigint) as counted`.execute(db)
  return rows[0]!.count
}

function failedLastDay(environmentIds: readonly number[], which: RawBuilder<unknown>, limit: number) {
  return sql`unnest(${environmentIds}::bigint[]) as partition (environment_id), lateral (
    select * from actions a where a.environment_id = any(array[partition.environment_id]) and a.status = 'failed'
      and a.completed_at >= now() - interval '1 day' and ${which}
    order by a.environment_id desc, a.completed_at desc limit (select ${limit}::bigint)) as a`
}

export async function presentRuns(
  { tree }: Visibility,
  baseUrl: string,
  rows: readonly RunRow[],
): Promise<OverviewRun[]> {
  const [environments, pipelines] = await Promise.all([
    tree.environments(rows.map((row) => row.environment_id)),
    tree.pipelines(rows.map((row) => row.pipeline_id)),
  ])
  return rows.map(({ environment_id, pipeline_id, type, status, status_reason_code, deployment, ...run }) => {
    const pipeline = pipelines.get(pipeline_id)!
    const { project, ...environment } = environments.get(environment_id)!
    return {
      ...run,
      ...presentStatus(status, status_reason_code),
      ...presentType(type),
      deployment_type: deployment?.type ?? null,
      resource_id: pipeline.resource_id,
      ...presentResource(pipeline),
      pipeline: { id: pipeline.id, name: pipeline.name },
      environment: { id: environment.id, name: environment.name, type: environment.type },
      project: { id: project.id, name: project.name },
      organization: { id: project.organization.id, name: project.organization.name },
      url_web_permalink: permalink(baseUrl, run.id),
    }
  })
}
