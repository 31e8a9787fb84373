import { type RawBuilder, sql } from 'kysely'
import { isEnd, WAITING_FOR_FREEZE, WAITING_FOR_PIPELINE } from '#model/actions/status.ts'
import { isHeldByAny } from '#model/gates/load-freezes.ts'
import { anyId } from '#platform/database/any-of.ts'
import type { Transaction } from '#platform/database/connect.ts'
import type { Status } from '#platform/database/tables.ts'
import { noteWaiting } from './committed-moves.ts'
import { needsSlot, type ScheduledAction } from './scheduled-action.ts'
import type { SchedulingPass } from './scheduling-pass.ts'
import { notifyWatchers, recordMoves } from './store-moves.ts'

// Runs that a freeze holds: they have no slot, and nothing reads them until it is over. All of this happens under the lock
// of the environment, which a freeze takes when it is created, changed and removed.

/** How many runs one statement moves. */
export const HELD_AT_ONCE = 2_000

/** Of these pipelines, in a frozen environment: everything that has no slot is held, except what the freezes let through. */
export async function holdRuns(pass: SchedulingPass, pipelineIds: readonly number[]): Promise<void> {
  const { trx, at } = pass
  for (const action of pass.loaded()) {
    if (needsSlot(action) && pipelineIds.includes(action.pipelineId) && pass.closedGate(action) === 'freeze')
      pass.moveAction(action, WAITING_FOR_FREEZE)
  }
  await noteFrozen(pass)
  await pass.flush()
  const except = pass.loaded().map(({ id }) => id)
  const isHeld = isHeldByAny(pass.freezes())
  while ((await storeHeld(trx, at, { pipelineIds, isHeld, except })) === HELD_AT_ONCE) {}
}

/** One that has left the gate before. */
export async function holdRun(pass: SchedulingPass, action: ScheduledAction): Promise<void> {
  pass.moveAction(action, WAITING_FOR_FREEZE)
  await noteFrozen(pass)
}

/**
 * The loaded runs that have a slot, have not begun, and are frozen by now: nothing of them is queued. Their slots are
 * returned, those of a run with a queued target once the job of that has seen the freeze, too.
 */
export async function returnSlots(pass: SchedulingPass): Promise<ScheduledAction[]> {
  const frozen = pass.loaded().filter((one) => one.hasSlot && isFrozenAtStart(pass, one))
  for (const action of frozen) {
    if (action.targets.some(({ status }) => status === 'queued')) continue
    for (const target of action.targets)
      if (target.status === 'waiting') pass.moveTarget(target, WAITING_FOR_FREEZE)
    pass.returnSlot(action, WAITING_FOR_FREEZE)
    await noteFrozen(pass)
  }
  return frozen
}

/** Nothing of it has begun: at most it waits for a server or a worker, or was queued. */
export function isFrozenAtStart(pass: SchedulingPass, action: ScheduledAction): boolean {
  const hasBegun = action.targets.some(({ status }) => status === 'in-progress' || isEnd(status))
  return !hasBegun && pass.closedGate(action) === 'freeze'
}

/** Where runs are held, and what becomes of them: with overlapping freezes, `all` wins. */
async function noteFrozen(pass: SchedulingPass): Promise<void> {
  const allContinue = pass.freezes().some(({ whenOver }) => whenOver === 'all')
  await sql`
    insert into frozen_environments (environment_id, since, all_continue)
    values (${pass.environmentId}, ${pass.at}, ${allContinue})
    on conflict (environment_id) do update
      set all_continue = frozen_environments.all_continue or excluded.all_continue, thawed_at = null
      where not frozen_environments.all_continue and excluded.all_continue
        or frozen_environments.thawed_at is not null`.execute(pass.trx)
}

type Held = { id: number; pipelineId: number; previous: Status }

/** Returns how many there were; up to the limit. */
async function storeHeld(
  trx: Transaction,
  at: string,
  of: { pipelineIds: readonly number[]; isHeld: RawBuilder<boolean>; except: readonly number[] },
): Promise<number> {
  const { rows } = await sql<Held>`
    with next as materialized (
      select held.id, held.status from pipelines p cross join lateral (
        select a.id, a.status from actions a
        where a.pipeline_id = p.id and a.status in ('queued', 'waiting') and not a.has_place and a.gate is null
          and a.id <> all(${of.except}::bigint[]) and ${of.isHeld}
        order by a.id limit ${HELD_AT_ONCE}
      ) as held
      where p.id = ${anyId(of.pipelineIds)} limit ${HELD_AT_ONCE}
    )
    update actions set status = ${WAITING_FOR_FREEZE.status}, status_reason_code = ${WAITING_FOR_FREEZE.reason},
      gate = 'freeze', updated_at = ${at}
    from next where actions.id = next.id and actions.id = any(array(select id from next))
    returning actions.id, actions.pipeline_id as "pipelineId", next.status as previous`.execute(trx)
  const inOrder = rows.sort((one, other) => one.id - other.id)
  await record(trx, at, inOrder, WAITING_FOR_FREEZE)
  return rows.length
}

type Released = { pipelineIds: number[]; outdated: number[] }

/**
 * The freeze is over: the oldest runs that it held on each of these pipelines wait for a slot again, and nothing else of
 * them changes. Those that `outdated` lists are to be skipped instead.
 */
export async function releaseHeld(
  pass: SchedulingPass,
  pipelineIds: readonly number[] | 'all',
  perPipeline: number,
): Promise<Released> {
  const { trx, at } = pass
  const found = await findHeld(trx, pass.environmentId, pipelineIds, perPipeline)
  await sql`
    update frozen_environments set thawed_at = ${at}
    where environment_id = ${pass.environmentId} and thawed_at is null`.execute(trx)
  const continuing = found.filter(({ isOutdated }) => !isOutdated)
  await storeReleased(trx, at, continuing)
  return {
    pipelineIds: [...new Set(found.map(({ pipelineId }) => pipelineId))],
    outdated: found.flatMap(({ id, isOutdated }) => (isOutdated ? id : [])),
  }
}

/** Of a deploy that a hook started, and that a newer one of its branch can outdate; replays are started by a person. */
const CAN_BE_OUTDATED = sql`type = 'deploy' and trigger_type = 'hook' and triggered_by is null and branch is not null`

/** The newest run of each branch that has started, of those newer than `since`. */
const newestStarted = (pipelineIds: readonly number[], since: RawBuilder<number>) => sql`
  select pipeline_id, branch, max(id) as id from actions
  where pipeline_id = ${anyId(pipelineIds)} and status in ('in-progress', 'completed', 'failed') and id > ${since}
    and started_at is not null and ${CAN_BE_OUTDATED}
  group by pipeline_id, branch`

/** Those of these runs that leave their gates too late: a newer one of the same pipeline and branch has started. */
export async function findOutdated(
  trx: Transaction,
  pipelineIds: readonly number[],
  ids: readonly number[],
): Promise<number[]> {
  if (ids.length === 0) return []
  const { rows } = await sql<{ id: number }>`
    with newest as materialized (${newestStarted(pipelineIds, sql`${Math.min(...ids)}::bigint`)})
    select id from actions where id = ${anyId(ids)} and ${CAN_BE_OUTDATED} and exists (
      select from newest where newest.pipeline_id = actions.pipeline_id and newest.branch = actions.branch
        and newest.id > actions.id)`.execute(trx)
  return rows.map(({ id }) => id)
}

/**
 * Those that continue, then those that are outdated, each in the order of ids: a run that can start does not wait
 * until the others have ended.
 */
async function findHeld(
  trx: Transaction,
  environmentId: number,
  pipelineIds: readonly number[] | 'all',
  atMost: number,
): Promise<{ id: number; pipelineId: number; isOutdated: boolean }[]> {
  const ids = pipelineIds === 'all' ? await pipelinesOf(trx, environmentId) : pipelineIds
  if (ids.length === 0) return []
  const perPipeline = Math.min(atMost, Math.max(1, Math.floor(HELD_AT_ONCE / ids.length)))
  const { rows } = await sql<{ id: number; pipelineId: number; isOutdated: boolean }>`
    with held as materialized (
      select id, pipeline_id, branch, ${CAN_BE_OUTDATED} as by_hook from actions
      where gate = 'freeze' and pipeline_id = ${anyId(ids)}
    ),
    newest as materialized (
      select pipeline_id, branch, max(id) as id from (
        ${newestStarted(ids, OLDEST_HELD)} union all ${newestOfAll(environmentId, ids)}
      ) as each group by pipeline_id, branch
    ),
    judged as (
      select held.id, held.pipeline_id, coalesce(by_hook and newest.id > held.id, false) as outdated
      from held left join newest on newest.pipeline_id = held.pipeline_id and newest.branch = held.branch
    ),
    ordered as (
      select *, row_number() over (partition by pipeline_id order by outdated, id) as place from judged
    )
    select id, pipeline_id as "pipelineId", outdated as "isOutdated" from ordered
    where place <= ${perPipeline} order by outdated, id limit ${HELD_AT_ONCE}`.execute(trx)
  return rows
}

const OLDEST_HELD = sql<number>`(select min(id) from held)`

/**
 * Where only the newest run of each branch continues: that one, wherever it is by now. A release takes several passes: it may
 * have left the gate, or have ended since the first pass, while older ones are still held.
 */
const newestOfAll = (environmentId: number, pipelineIds: readonly number[]) => sql`
  select pipeline_id, branch, max(id) as id from actions
  join frozen_environments frozen on frozen.environment_id = ${environmentId} and not all_continue
  where pipeline_id = ${anyId(pipelineIds)} and id >= ${OLDEST_HELD} and ${CAN_BE_OUTDATED} and (
    gate = 'freeze' or gate is null and status in ('queued', 'waiting')
    or completed_at >= thawed_at and status_reason_code <> 'SKIPPED_OUTDATED' and exists (
      select from events e where e.action_id = actions.id and e.status_reason_code = 'WAITING_FREEZE'))
  group by pipeline_id, branch`

/** Those with runs at the gate. */
async function pipelinesOf(trx: Transaction, environmentId: number): Promise<number[]> {
  const { rows } = await sql<{ id: number }>`
    select p.id from pipelines p where p.environment_id = ${environmentId}
      and exists (select from actions where gate = 'freeze' and pipeline_id = p.id)`.execute(trx)
  return rows.map(({ id }) => id)
}

async function storeReleased(
  trx: Transaction,
  at: string,
  runs: readonly { id: number; pipelineId: number }[],
): Promise<void> {
  if (runs.length === 0) return
  await sql`
    update actions set status_reason_code = ${WAITING_FOR_PIPELINE.reason}, gate = null, updated_at = ${at}
    where id = ${anyId(runs.map(({ id }) => id))}`.execute(trx)
  await record(
    trx,
    at,
    runs.map((run) => ({ ...run, previous: 'waiting' })),
    WAITING_FOR_PIPELINE,
  )
}

async function record(
  trx: Transaction,
  at: string,
  runs: readonly Held[],
  next: typeof WAITING_FOR_FREEZE,
): Promise<void> {
  if (runs.length === 0) return
  await recordMoves(
    trx,
    at,
    runs.map(({ previous, ...action }) => ({ ...next, action, previous, gateEvent: 'gate_changed' })),
  )
  await notifyWatchers(runs.map(({ id }) => id)).execute(trx)
  noteWaiting(trx, runs.length)
}

/** If none is held. Under the lock: none comes in between. */
export async function forgetFrozen({ trx, environmentId }: SchedulingPass): Promise<void> {
  await sql`
    delete from frozen_environments where environment_id = ${environmentId} and not exists (
      select from pipelines p join actions a on a.pipeline_id = p.id and a.gate = 'freeze'
      where p.environment_id = ${environmentId})`.execute(trx)
}
