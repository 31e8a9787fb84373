// The gates room: what opens gates. Here, runs that a freeze held start when it is over, whichever process is up then.
import { sql } from 'kysely'
import { assignSlots, type EnqueueTargets, releaseRuns } from '#engine/scheduling/assign-slots.ts'
import { type OnMoves, reportMoves } from '#engine/scheduling/committed-moves.ts'
import { openSchedulingPass } from '#engine/scheduling/scheduling-pass.ts'
import { inForce, loadFreezes } from '#model/gates/load-freezes.ts'
import type { Database, Transaction } from '#platform/database/connect.ts'
import { repeat } from '#platform/queue/repeat.ts'

export type ReleaseDeps = {
  db: Database
  enqueueTargets: EnqueueTargets
  onMoves?: OnMoves
  onError: (error: Error) => void
}

/**
 * Looks for freezes that are over. Any number of processes may do this side by side: each release is one transaction
 * under the lock of its environment.
 */
export function startReleasing(options: ReleaseDeps & { everyMs: number; isPaused: () => boolean }): {
  stop(): Promise<void>
} {
  const stopping = new AbortController()
  const { signal } = stopping
  const work = async () => {
    if (!options.isPaused()) await releaseThawed(options, signal)
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

/** Every environment whose held runs no freeze holds any more; an error in one does not stop the others. */
export async function releaseThawed(deps: ReleaseDeps, signal?: AbortSignal): Promise<void> {
  for (const { environmentId, allContinue, now } of await findFrozen(deps.db)) {
    const freezes = inForce(await loadFreezes(deps.db, environmentId), now)
    try {
      if (freezes.length === 0) await releaseEnvironment(deps, environmentId, signal)
      // One that began meanwhile, while others held runs already.
      else if (!allContinue && freezes.some(({ whenOver }) => whenOver === 'all'))
        await keepAll(deps.db, environmentId)
    } catch (error) {
      deps.onError(error as Error)
    }
  }
}

async function releaseEnvironment(
  { db, enqueueTargets, onMoves }: ReleaseDeps,
  environmentId: number,
  signal?: AbortSignal,
): Promise<void> {
  const release = async (trx: Transaction): Promise<boolean> => {
    const pass = await openSchedulingPass(trx, environmentId)
    // Again, under the lock.
    if (inForce(await loadFreezes(trx, environmentId), pass.at).length > 0) return true
    const { pipelineIds, isLast } = await releaseRuns(pass, 'all')
    await assignSlots(pass, { pipelineIds }, enqueueTargets)
    return isLast
  }
  let isDone = false
  while (!isDone && !signal?.aborted) isDone = await reportMoves(db, onMoves, release, environmentId)
}

async function findFrozen(db: Database) {
  const { rows } = await sql<{ environmentId: number; allContinue: boolean; now: string }>`
    select environment_id as "environmentId", all_continue as "allContinue", clock_timestamp()::timestamptz(3) as now
    from frozen_environments order by environment_id`.execute(db)
  return rows
}

async function keepAll(db: Database, environmentId: number): Promise<void> {
  await db
    .updateTable('frozen_environments')
    .set({ all_continue: true })
    .where('environment_id', '=', environmentId)
    .execute()
}
