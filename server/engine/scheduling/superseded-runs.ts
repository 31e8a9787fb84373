import { type RawBuilder, sql } from 'kysely'
import type { Transaction } from '#platform/database/connect.ts'
import { releaseChildren, skipActions } from './release-children.ts'
import type { ScheduledAction } from './scheduled-action.ts'
import { lockScheduling, openSchedulingPass, type SchedulingPass } from './scheduling-pass.ts'
import { IS_OF_HOOK } from './superseded-sql.ts'

// With the queue policy latest, a run that has passed checks and approval supersedes the older runs of hooks that have not
// started. There may be tens of thousands: a pass skips some of them, and the others never start, whatever happens to them, until
// later passes have skipped them, too.

/** How many one pass skips: it holds the lock of the environment. */
const SKIPPED_AT_ONCE = 500

/**
 * Skips the runs of these pipelines that hooks have started, that have not started, and that a newer one
 * supersedes; one that waits for checks or approval supersedes none. Runs that users started stay. The slots that become free
 * are assigned when the newer run is scheduled.
 */
export async function supersedeOlder(
  trx: Transaction,
  pipelines: readonly { id: number; environmentId: number }[],
): Promise<void> {
  const byEnvironment = Map.groupBy(pipelines, (pipeline) => pipeline.environmentId)
  // All at once, in order: two commits that take the same locks one by one could deadlock.
  await lockScheduling(trx, [...byEnvironment.keys()])
  for (const [environmentId, group] of byEnvironment) {
    const pass = await openSchedulingPass(trx, environmentId)
    for (const { id } of group) await supersede(pass, id)
  }
}

/** Of a pipeline whose newest run has passed checks and approval just now. */
export async function supersede(pass: SchedulingPass, pipelineId: number): Promise<void> {
  const newest = await newestPassed(pass.trx, pipelineId)
  if (newest === null) return
  const ids = await olderRuns(pass.trx, pipelineId, newest, SKIPPED_AT_ONCE + 1)
  if (ids.length > SKIPPED_AT_ONCE)
    await sql`
      insert into superseded_pipelines (pipeline_id, environment_id, newest)
      values (${pipelineId}, ${pass.environmentId}, ${newest})
      on conflict (pipeline_id) do update
      set newest = greatest(superseded_pipelines.newest, excluded.newest)`.execute(pass.trx)
  await skip(pass, ids.slice(0, SKIPPED_AT_ONCE))
}

/** The next of those that were not skipped when they were superseded. Returns them: slots may be free now. */
export async function skipSuperseded(pass: SchedulingPass, pipelineId: number): Promise<ScheduledAction[]> {
  const { trx } = pass
  const noted = await trx
    .selectFrom('superseded_pipelines')
    .select('newest')
    .where('pipeline_id', '=', pipelineId)
    .executeTakeFirst()
  if (!noted) return []
  const ids = await olderRuns(trx, pipelineId, noted.newest, SKIPPED_AT_ONCE + 1)
  if (ids.length <= SKIPPED_AT_ONCE)
    await trx.deleteFrom('superseded_pipelines').where('pipeline_id', '=', pipelineId).execute()
  return skip(pass, ids.slice(0, SKIPPED_AT_ONCE))
}

/** Those that a pass came across: none of them starts. */
export async function skipLoadedSuperseded(pass: SchedulingPass): Promise<ScheduledAction[]> {
  const superseded = pass.loaded().filter(isSupersededAtStart)
  await skipActions(pass, superseded)
  return superseded
}

/** It has a slot, and nothing of it has begun. */
export function isSupersededAtStart({ isSuperseded, hasSlot, startedAt }: ScheduledAction): boolean {
  return isSuperseded && hasSlot && startedAt === null
}

async function skip(pass: SchedulingPass, ids: readonly number[]): Promise<ScheduledAction[]> {
  const actions = await pass.load(ids)
  await skipActions(pass, actions)
  await releaseChildren(pass)
  await pass.flush()
  return actions
}

/** The newest one that waits neither for checks nor for approval. Each part reads the end of an index, however many wait there. */
async function newestPassed(trx: Transaction, pipelineId: number): Promise<number | null> {
  const last = (where: RawBuilder<unknown>) => sql`(
    select id from actions a where pipeline_id = ${pipelineId} and ${where} and ${IS_OF_HOOK} order by id desc limit 1)`
  const { rows } = await sql<{ newest: number | null }>`
    select max(id) as newest from (
      ${last(sql`status in ('queued', 'waiting') and not has_place and gate is null`)}
      union all ${last(sql`status in ('queued', 'waiting') and has_place`)}
      union all ${last(sql`gate = 'freeze'`)}
      union all ${last(sql`status = 'pending'`)}
    ) as passed`.execute(trx)
  return rows[0]!.newest
}

/** Those with a slot first: they are the next to start. */
async function olderRuns(
  trx: Transaction,
  pipelineId: number,
  newest: number,
  limit: number,
): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select id from actions a
    where pipeline_id = ${pipelineId} and status in ('pending', 'waiting', 'queued') and id < ${newest} and ${IS_OF_HOOK}
    order by has_place desc, id limit ${limit}`.execute(trx)
  return rows.map(({ id }) => id)
}
