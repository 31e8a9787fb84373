import { sql } from 'kysely'
import { ANY_ID, newestInPartition } from '#model/actions/partition.ts'
import { permalink, presentStatus, presentType } from '#model/actions/present.ts'
import type { Visibility } from '#model/actions/visibility.ts'
import type { Database } from '#platform/database/connect.ts'
import type { ReasonCode, Status } from '#platform/database/tables.ts'
import { RESOURCE_TYPES } from '#platform/vocabulary.ts'
import type { OverviewRun } from './schemas.ts'

export const MAX_RUNNING = 50
export const MAX_FAILURES = 20

type RunRow = {
  id: number
  environment_id: number
  pipeline_id: number
  type: string
  status: Status
  status_reason_code: ReasonCode
  trigger_type: string
  trigger_name: string | null
  started_at: string | null
  completed_at: string | null
  created_at: string
}

const COLUMNS = sql`a.id, a.environment_id, a.pipeline_id, a.type, a.status, a.status_reason_code, a.trigger_type,
  a.trigger_name, a.started_at, a.completed_at, a.created_at`

/** Runs in progress, newest first. */
export async function findRunning(db: Database, environmentIds: readonly number[]): Promise<RunRow[]> {
  const heads = newestInPartition(['pipeline_id', 'status'], { ids: ANY_ID, limit: MAX_RUNNING })
  const { rows } = await sql<RunRow>`
    select ${COLUMNS} from actions a where a.id = any(array(
      select heads.id from (
        select p.id as pipeline_id, 'in-progress'::text as status from pipelines p
        where p.environment_id = any(${environmentIds}::bigint[])) as partition, lateral ${heads} as heads
      order by heads.id desc limit ${MAX_RUNNING}::bigint
    )) order by a.id desc`.execute(db)
  return rows
}

/** Runs that failed within a day, latest failure first. One index scan per environment (see partition.ts). */
export async function findFailures(db: Database, environmentIds: readonly number[]): Promise<RunRow[]> {
  const { rows } = await sql<RunRow>`
    select ${COLUMNS} from unnest(${environmentIds}::bigint[]) as partition (environment_id), lateral (
      select * from actions a where a.environment_id = any(array[partition.environment_id]) and a.status = 'failed'
        and a.completed_at >= now() - interval '1 day'
      order by a.environment_id desc, a.completed_at desc limit (select ${MAX_FAILURES}::bigint)) as a
    order by a.completed_at desc, a.id desc limit ${MAX_FAILURES}::bigint`.execute(db)
  return rows
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
  return rows.map((row) => {
    const pipeline = pipelines.get(row.pipeline_id)!
    const { id, name, type, project } = environments.get(row.environment_id)!
    return {
      id: row.id,
      ...presentStatus(row.status, row.status_reason_code),
      ...presentType(row.type),
      resource_id: pipeline.resource_id,
      resource_name: (pipeline.application?.data.name ?? pipeline.server?.name)!,
      resource_type: pipeline.resource_type,
      resource_type_human_readable: RESOURCE_TYPES[pipeline.resource_type],
      pipeline: { id: pipeline.id, name: pipeline.name },
      environment: { id, name, type },
      project: { id: project.id, name: project.name },
      organization: { id: project.organization.id, name: project.organization.name },
      trigger_type: row.trigger_type,
      trigger_name: row.trigger_name,
      url_web_permalink: permalink(baseUrl, row.id),
      started_at: row.started_at,
      completed_at: row.completed_at,
      created_at: row.created_at,
    }
  })
}
