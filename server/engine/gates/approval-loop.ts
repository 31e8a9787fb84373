// Runs that need approval, whichever process is up: what they ship is found out, and their time runs out.
import type { Listener } from '#platform/database/listen.ts'
import { repeat } from '#platform/queue/repeat.ts'
import { expireDue } from './expire-approvals.ts'
import { createRemoveOldPins } from './old-pins.ts'
import { type PrepareDeps, prepareApprovals } from './prepare-approvals.ts'
import { createTurnTaking } from './prepare-in-turns.ts'
import { watchStale } from './stale-approvals.ts'

/** Runs of a pipeline share most of what it takes to find out what they ship. */
const PREPARED_AT_ONCE = 50

type LoopDeps = Omit<PrepareDeps, 'removeOldPins'> & { onError: (error: Error) => void }

/** Any number of processes may do this side by side. */
export async function startApproving(
  options: LoopDeps & { listener: Listener; everyMs: number; isPaused: () => boolean },
): Promise<{ stop(): Promise<void> }> {
  const stopping = new AbortController()
  const { signal } = stopping
  const onError = (error: unknown) => options.onError(error as Error)
  const preparing = createPreparing(options, signal)

  await watchStale({ ...options, onError }, () => {
    if (!options.isPaused()) preparing.begin()
  })
  const polling = repeat(
    options.everyMs,
    signal,
    async () => {
      if (options.isPaused()) return
      preparing.begin()
      await expireDue(options, signal)
    },
    { onError },
  )
  return {
    async stop() {
      stopping.abort()
      await Promise.all([polling, preparing.idle()])
    },
  }
}

/** Everything that is due, and nothing else: for tests, pass by pass. */
export async function prepareDue(deps: LoopDeps, signal: AbortSignal): Promise<void> {
  const preparing = createPreparing(deps, signal)
  preparing.begin()
  await preparing.idle()
}

function createPreparing(deps: LoopDeps, signal: AbortSignal) {
  const prepareDeps = { ...deps, removeOldPins: createRemoveOldPins(deps) }
  const prepare = (actionIds: readonly number[]) => prepareApprovals(prepareDeps, actionIds, signal)
  return createTurnTaking(deps, { requests: 'approval_requests', atOnce: PREPARED_AT_ONCE }, prepare, signal)
}
