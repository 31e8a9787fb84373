// The gates room: what opens gates. Here, runs that a freeze held start when it is over, and those that a newer run has
// superseded are skipped, whichever process is up then.
import { sql } from 'kysely'
import { assignSlots, type EnqueueTargets, releaseRuns } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import { HELD_AT_ONCE } from '#engine/scheduling/frozen-runs.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { skipSuperseded } from '#engine/scheduling/superseded-runs.ts'
import {
  type Freeze,
  type FreezeInForce,
  freezesOf,
  inForce,
  loadFreezes,
} from '#model/gates/load-freezes.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { repeat } from '#platform/queue/repeat.ts'

export type ReleaseDeps = {
  db: Database
  enqueueTargets: EnqueueTargets
  onMoves?: OnMoves
  onError: (error: Error) => void
}

/**
 * Looks for freezes that are over. Any number of processes may do this side by side: each pass is one transaction under the
 * lock of its environment.
 */
export function startReleasing(options: ReleaseDeps & { everyMs: number; isPaused: () => boolean }): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const work = async () => {
    if (!options.isPaused()) await makeDuePasses(options, signal)
  }
  const onError = (error: unknown) => options.onError(error as Error)
  const polling = repeat(options.everyMs, signal, work, { onError })
  return {
    async stop() {
      stopping.abort()
      await polling
    },
  }
}

/** Runs that are to be moved, in as many passes as it takes. `pass` returns whether there were any. */
type Due = { key: string; pass(isFirst: boolean): Promise<boolean> }

/**
 * Where held runs are no longer held, and where superseded ones are still to be skipped. One pass each, and the next one for
 * those that have had the fewest: every environment starts its first run soon, however many another one has to release. An
 * error in one does not stop the others.
 */
export async function makeDuePasses(deps: ReleaseDeps, signal?: AbortSignal): Promise<void> {
  const passes = new Map<string, number>()
  let due: Due[] = []
  let lookedAt = Number.NEGATIVE_INFINITY
  while (!signal?.aborted) {
    if (performance.now() - lookedAt > LOOK_AGAIN_MS) {
      due = [...(await findThawed(deps)), ...(await findSuperseded(deps))]
      lookedAt = performance.now()
    }
    const next = leastServed(due, passes)
    if (next === undefined) return
    const count = passes.get(next.key) ?? 0
    try {
      const hasMoved = await next.pass(count === 0)
      passes.set(next.key, hasMoved ? count + 1 : LATER)
    } catch (error) {
      passes.set(next.key, LATER)
      deps.onError(error as Error)
    }
  }
}

/** The first pass is short: other environments may wait for theirs. */
const FIRST_PER_PIPELINE = 100
/** Looking takes longer the more there are: not before every pass. One that is due since then is next. */
const LOOK_AGAIN_MS = 200
/** Not before this process looks the next time. */
const LATER = Number.POSITIVE_INFINITY

function leastServed(due: readonly Due[], passes: ReadonlyMap<string, number>): Due | undefined {
  const count = ({ key }: Due) => passes.get(key) ?? 0
  const [least] = due.toSorted((one, other) => count(one) - count(other))
  return least && count(least) < LATER ? least : undefined
}

/** Every environment with held runs that no freeze holds any longer. */
async function findThawed(deps: ReleaseDeps): Promise<Due[]> {
  const frozen = await findFrozen(deps.db)
  await keepAll(deps.db, frozen)
  const thawed = frozen.filter(({ freezes }) => freezes.length === 0)
  return thawed.map(({ environmentId }) => ({
    key: `environment ${environmentId}`,
    pass: (isFirst) => releaseSome(deps, environmentId, isFirst ? FIRST_PER_PIPELINE : HELD_AT_ONCE),
  }))
}

/** The next runs that one environment held. */
function releaseSome(
  { db, enqueueTargets, onMoves }: ReleaseDeps,
  environmentId: number,
  perPipeline: number,
): Promise<boolean> {
  const release = async (trx: Transaction): Promise<boolean> => {
    const pass = await openSchedulingPass(trx, environmentId)
    // Again, under the lock.
    if (inForce(await loadFreezes(trx, environmentId), pass.at).length > 0) return false
    const pipelineIds = await releaseRuns(pass, 'all', perPipeline)
    await assignSlots(pass, { pipelineIds }, enqueueTargets)
    return pipelineIds.length > 0
  }
  return reportMoves(db, onMoves, release, environmentId)
}

async function findSuperseded({ db, enqueueTargets, onMoves }: ReleaseDeps): Promise<Due[]> {
  const rows = await db.selectFrom('superseded_pipelines').select(['pipeline_id', 'environment_id']).execute()
  return rows.map(({ pipeline_id, environment_id }) => {
    const skipSome = async (trx: Transaction): Promise<boolean> => {
      const pass = await openSchedulingPass(trx, environment_id)
      const skipped = await skipSuperseded(pass, pipeline_id)
      const serverIds = skipped.flatMap(({ targets }) => targets.map((target) => target.serverId))
      await assignSlots(pass, { pipelineIds: [pipeline_id], serverIds }, enqueueTargets)
      return skipped.length > 0
    }
    return {
      key: `pipeline ${pipeline_id}`,
      pass: () => reportMoves(db, onMoves, skipSome, environment_id),
    }
  })
}

type Frozen = { environmentId: number; allContinue: boolean; freezes: FreezeInForce[] }

/** In any order: processes that look at the same time do not begin with the same one. */
async function findFrozen(db: Database): Promise<Frozen[]> {
  const { rows } = await sql<Omit<Frozen, 'freezes'> & { covering: Freeze[]; now: string }>`
    select environment_id as "environmentId", all_continue as "allContinue",
      ${freezesOf(sql.ref('frozen_environments.environment_id'))} as covering, clock_timestamp()::timestamptz(3) as now
    from frozen_environments order by random()`.execute(db)
  return rows.map(({ covering, now, ...frozen }) => ({ ...frozen, freezes: inForce(covering, now) }))
}

/** Where a freeze began meanwhile after which every run continues, while others held runs already. */
async function keepAll(db: Database, frozen: readonly Frozen[]): Promise<void> {
  const ids = frozen.flatMap(({ environmentId, allContinue, freezes }) =>
    !allContinue && freezes.some(({ whenOver }) => whenOver === 'all') ? environmentId : [],
  )
  if (ids.length === 0) return
  await sql`
    update frozen_environments set all_continue = true where environment_id = any(${ids}::bigint[])`.execute(
    db,
  )
}
