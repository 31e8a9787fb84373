// Removing old releases from a server: at the end of a deploy and, after a rollout that could still have been reverted on
// all servers, at the beginning of the next one.
import { listReleases, removeReleases } from '#model/deploy/commands.ts'
import {
  type FoundReleases,
  readReleases,
  readRemoved,
  releasesToRemove,
} from '#model/deploy/remove-old-releases.ts'
import { findPossiblyLive } from '#model/live/live-record.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { diskOf } from './mark-live.ts'
import { countOnDisk, hideReleases, replaceReleases } from './releases-on-disk.ts'
import {
  attemptOf,
  baseOf,
  countDown,
  DONE,
  failed,
  runAndRead,
  type StepContext,
  type StepOutcome,
  unlogged,
} from './step.ts'

export async function findReleases(context: StepContext): Promise<FoundReleases | StepOutcome> {
  const { outcome, output } = await runAndRead(context, listReleases(baseOf(context.run)), unlogged)
  if (outcome.kind !== 'done') return outcome
  return readReleases(output) ?? failed('FAILED', 'Could not list the releases on the server.')
}

/** What goes beyond `deployments_keep`, without what may be live. */
async function findUnneeded(
  db: Database,
  { run, signal }: StepContext,
  found: FoundReleases,
  spared: string | null = null,
): Promise<string[]> {
  const possiblyLive = await retryOutage(() => findPossiblyLive(db, diskOf(run)), signal)
  const names = releasesToRemove(found, run.application!.deploymentsKeep)
  return names.filter((name) => name !== spared && !possiblyLive.includes(name))
}

/** Records what is there, and removes what is not needed. */
export async function pruneReleases(db: Database, context: StepContext): Promise<StepOutcome> {
  const { run, signal } = context
  const found = await findReleases(context)
  if ('kind' in found) return found
  await retryOutage(() => replaceReleases(db, diskOf(run), found.releases), signal)
  const names = await findUnneeded(db, context, found)
  if (run.revertsAll) await context.line(POSTPONED)
  else if (names.length === 0) await context.line(nothingToRemove(found, run.application!.deploymentsKeep))
  const isNeeded = names.length > 0 || found.hasLeftovers
  return isNeeded && !run.revertsAll ? remove(db, context, names) : DONE
}

const POSTPONED =
  'Postponed until the rollout has ended on all servers: the next deploy removes old releases.'

function nothingToRemove({ releases: { length } }: FoundReleases, keep: number): string {
  const kept =
    length > keep ? `${length} releases, one of them to revert to` : `${length} of up to ${keep} releases`
  return `Nothing to remove: keeping ${kept}.`
}

/** A deploy waits no longer for it. */
const LEFTOVERS_SECONDS = 60

/**
 * What earlier deploys have left, once this attempt has the lock. It prepares the deploy but is no part of it: problems are
 * only logged. `spared`: what a rollback is about to activate.
 */
export async function pruneLeftovers(
  db: Database,
  context: StepContext,
  spared: string | null,
): Promise<StepOutcome> {
  const { deploymentsKeep } = context.run.application!
  const count = await retryOutage(() => countOnDisk(db, diskOf(context.run)), context.signal)
  if (count <= deploymentsKeep) return DONE
  const timeoutSeconds = Math.min(LEFTOVERS_SECONDS, Math.floor(context.leftMs() / 2_000))
  const step = { ...context.step, timeoutSeconds }
  const hurried = { ...context, step, leftMs: countDown(timeoutSeconds) }
  const found = await findReleases(hurried)
  const names = 'kind' in found ? [] : await findUnneeded(db, hurried, found, spared)
  const outcome = 'kind' in found ? found : names.length > 0 ? await remove(db, hurried, names) : DONE
  if (outcome.kind !== 'failed') return outcome
  await context.line(`Old releases stay for now: ${outcome.message}`)
  return DONE
}

/** Not all of them: one may be live by now, or another deploy has started and removes them. */
async function remove(db: Database, context: StepContext, names: readonly string[]): Promise<StepOutcome> {
  const command = removeReleases(baseOf(context.run), attemptOf(context), names)
  const { outcome, output } = await runAndRead(context, command)
  if (outcome.kind === 'stopped') return outcome
  await retryOutage(() => hideReleases(db, diskOf(context.run), readRemoved(output)), context.signal)
  return outcome
}
