import { type RawBuilder, sql } from 'kysely'
import type { Database } from '#platform/database/connect.ts'

// Whose turn it is to be prepared: for people, or for the question whether its checks are green. Runs that a person looks at
// come first; then pipelines take turns, some runs each, so that the thousands of one of them hold up no other. Within a
// pipeline the newest are first: of the runs of a hook, that is the one that people want to ship.

/** Each has rows of runs, and when they are due. */
export type Requests = 'approval_requests' | 'check_requests'

/** Runs of one pipeline, newest first. `arriving`: how many of them came within the last second. */
export type Claim = {
  actionIds: number[]
  pipelineId: number
  applicationId: number | null
  arriving: number
}

/** Another process takes over what one has claimed and not renewed. */
const LEASE_SECONDS = 30

/** How long the other runs of an application wait after its host could not be reached. */
const REST_MS = 30_000

/** How long a pipeline yields at most. */
const YIELD_MS = 5_000

/** Times are stored to the millisecond, rounded: what is due now may seem to be due in a moment. */
const IS_DUE = sql`r.due_at <= clock_timestamp() + interval '1 ms'`

export type Turns = ReturnType<typeof createTurns>

/**
 * The turns of one process, which prepares runs of an application one batch at a time: a second one would only wait for the
 * mirror. Runs that one process has claimed are not due for the others.
 */
export function createTurns(
  db: Database,
  { requests, atOnce }: { requests: Requests; atOnce: number },
  now = () => performance.now(),
) {
  const table = sql.table(requests)
  const busy = new Set<string>()
  const resting = new Map<string, number>()
  const yielding = new Map<string, number>()
  let lastPipeline = 0
  let claiming: Promise<unknown> = Promise.resolve()

  async function claim(): Promise<Claim | undefined> {
    for (const over of [resting, yielding])
      for (const [mirror, until] of over) if (until <= now()) over.delete(mirror)
    const excluded = [...busy, ...resting.keys()]
    const inTurns = [...excluded, ...yielding.keys()]
    const next =
      (await claimFirst(db, table, watched(table, excluded))) ??
      (await claimFirst(db, table, inTurn(table, lastPipeline, inTurns))) ??
      (lastPipeline === 0 ? undefined : await claimFirst(db, table, inTurn(table, 0, inTurns)))
    // From the first one on.
    if (!next) lastPipeline = 0
    if (!next) return undefined
    const isAlone = atOnce === 1 || yielding.has(mirrorOf(next))
    const more = isAlone ? [] : await claimMore(db, table, next.pipelineId, atOnce - 1)
    lastPipeline = next.pipelineId
    busy.add(mirrorOf(next))
    const all = [next, ...more]
    return {
      actionIds: all.map(({ actionId }) => actionId).sort((one, other) => other - one),
      pipelineId: next.pipelineId,
      applicationId: next.applicationId,
      arriving: all.filter(({ isNew }) => isNew).length,
    }
  }

  return {
    /** One at a time: what one has claimed keeps the application busy for the next. */
    next(): Promise<Claim | undefined> {
      const claimed = claiming.then(claim)
      claiming = claimed.catch(() => {})
      return claimed
    },
    done(claimed: Claim): void {
      busy.delete(mirrorOf(claimed))
    },
    rest(claimed: Claim): void {
      if (claimed.applicationId !== null) resting.set(mirrorOf(claimed), now() + REST_MS)
    },
    /** For so long, only those of its runs are next that people look at. */
    yield(claimed: Claim, ms: number): void {
      yielding.set(mirrorOf(claimed), now() + Math.min(ms, YIELD_MS))
    },
  }
}

const mirrorOf = ({ applicationId, pipelineId }: Pick<Claim, 'applicationId' | 'pipelineId'>) =>
  applicationId === null ? `pipeline ${pipelineId}` : `application ${applicationId}`

const isFree = (excluded: readonly string[]) =>
  sql`coalesce('application ' || p.application_id, 'pipeline ' || p.id) <> all(${excluded}::text[])`

type Table = RawBuilder<unknown>

const watched = (table: Table, excluded: readonly string[]): RawBuilder<unknown> => sql`
  select r.action_id, p.id, p.application_id from ${table} r join pipelines p on p.id = r.pipeline_id
  where r.is_watched and ${IS_DUE} and ${isFree(excluded)} order by r.action_id desc limit 1
  for update of r skip locked`

/** Steps from pipeline to pipeline, however many runs each of them has. */
const inTurn = (table: Table, after: number, excluded: readonly string[]): RawBuilder<unknown> => sql`
  with recursive turns as (
    (select pipeline_id from ${table} where due_at is not null and pipeline_id > ${after}
      order by pipeline_id limit 1)
    union all
    select following.pipeline_id from turns cross join lateral (
      select pipeline_id from ${table} r where r.due_at is not null and r.pipeline_id > turns.pipeline_id
      order by r.pipeline_id limit 1) as following
  )
  select due.action_id, p.id, p.application_id from turns join pipelines p on p.id = turns.pipeline_id
  cross join lateral (
    select r.action_id from ${table} r where r.pipeline_id = p.id and ${IS_DUE}
    order by r.action_id desc limit 1 for update skip locked
  ) as due
  where ${isFree(excluded)} limit 1`

type Claimed = { actionId: number; pipelineId: number; applicationId: number | null; isNew: boolean }

const IS_NEW = sql`r.created_at > clock_timestamp() - interval '1 second' as "isNew"`

async function claimFirst(
  db: Database,
  table: Table,
  first: RawBuilder<unknown>,
): Promise<Claimed | undefined> {
  const { rows } = await sql<Claimed>`
    with first as materialized (${first})
    update ${table} r set due_at = ${leaseEnd()}, is_watched = false from first
    where r.action_id = first.action_id
    returning r.action_id as "actionId", first.id as "pipelineId", first.application_id as "applicationId", ${IS_NEW}`.execute(
    db,
  )
  return rows[0]
}

/** The next runs of the same pipeline. */
async function claimMore(
  db: Database,
  table: Table,
  pipelineId: number,
  limit: number,
): Promise<Pick<Claimed, 'actionId' | 'isNew'>[]> {
  const { rows } = await sql<Pick<Claimed, 'actionId' | 'isNew'>>`
    with more as materialized (
      select r.action_id from ${table} r where r.pipeline_id = ${pipelineId} and ${IS_DUE}
      order by r.action_id desc limit ${limit} for update skip locked
    )
    update ${table} r set due_at = ${leaseEnd()}, is_watched = false
    where r.action_id = any(array(select action_id from more))
    returning r.action_id as "actionId", ${IS_NEW}`.execute(db)
  return rows
}

export async function renewClaim(
  db: Database,
  requests: Requests,
  { actionIds }: Pick<Claim, 'actionIds'>,
): Promise<void> {
  await sql`
    update ${sql.table(requests)} set due_at = ${leaseEnd()}
    where action_id = any(${actionIds}::bigint[]) and due_at > clock_timestamp()`.execute(db)
}

const leaseEnd = () => sql`clock_timestamp() + ${LEASE_SECONDS}::int * interval '1 second'`

/** It stays due, and people see why. */
export async function tryLater(
  db: Database,
  requests: Requests,
  actionId: number,
  problem: string,
): Promise<void> {
  await sql`
    update ${sql.table(requests)} set problem = ${problem}, due_at = ${leaseEnd()}
    where action_id = ${actionId} and due_at is not null`.execute(db)
}
