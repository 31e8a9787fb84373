// Before people can approve a run, a worker finds out what it ships: the commit, which stays the one, the difference to what is
// live on each server, and who wrote it. When something changed after an approval, it finds out whether that still holds.
import { retryOutage } from '#platform/database/outages.ts'
import { tryLater } from './claim-due.ts'
import { findShipped, type PinnedRun, readLiveOf } from './find-shipped.ts'
import { findWaiting } from './find-waiting.ts'
import { pinSources } from './pin-sources.ts'
import { failPrepared, forget, type StoreDeps, storePrepared } from './store-prepared.ts'

export type { StoreDeps as PrepareDeps }

/**
 * Runs of one pipeline, in as many statements as one of them takes. `unreachable`: what some of them ship is not known yet,
 * because a host does not answer; they are due again later.
 */
export async function prepareApprovals(
  deps: StoreDeps,
  actionIds: readonly number[],
  signal: AbortSignal,
): Promise<'unreachable' | undefined> {
  const { db } = deps
  const runs = await retryOutage(() => findWaiting(db, 'approval_requests', actionIds), signal)
  const waiting = new Set(runs.map(({ actionId }) => actionId))
  await forget(
    db,
    actionIds.filter((id) => !waiting.has(id)),
  )
  // Before the changes are recorded: if something else goes live meanwhile, all of it is found out again.
  const live = await readLiveOf(db, runs)
  const sources = await pinSources(deps, runs, signal)
  const pinned: PinnedRun[] = []
  let isUnreachable = false
  for (const run of runs) {
    const { actionId } = run
    const source = sources.get(actionId)!
    if (source.kind === 'pinned') pinned.push({ run, commit: source.commit, live: live.get(actionId)! })
    else if (source.kind === 'failed') await failPrepared(deps, run, source.message)
    else {
      isUnreachable = true
      await retryOutage(() => tryLater(db, 'approval_requests', actionId, source.message), signal)
    }
  }
  const shipped = await findShipped(deps, pinned, signal)
  const found = pinned.flatMap(({ run }) => {
    const one = shipped.get(run.actionId)
    return one ? [{ run, found: one }] : []
  })
  for (const { run, found: one } of found) if ('message' in one) await failPrepared(deps, run, one.message)
  const stored = found.flatMap(({ run, found: one }) => ('message' in one ? [] : [{ run, found: one }]))
  if (stored.length > 0) await retryOutage(() => storePrepared(deps, stored), signal)
  return isUnreachable ? 'unreachable' : undefined
}
