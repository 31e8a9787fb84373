import type { Repositories } from '#adapters/repositories/repositories.ts'
import {
  activateRelease,
  applicationCommand,
  checkAppEnvironment,
  MEASURE_MS,
  measureReleases,
  readLiveBefore,
  readSizes,
  revertRelease,
  takeLock,
} from '#model/deploy/commands.ts'
import { withoutLiveLine } from '#model/deploy/live-reading.ts'
import { checkLive } from '#model/live/check-live.ts'
import { type Disk, isStoredAs, readVersion } from '#model/live/live-record.ts'
import { storeReading } from '#model/live/store-reading.ts'
import type { DeployStep } from '#model/pipelines/built-in-steps.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { checkHealth } from './check-health.ts'
import { createGetNewRelease, isRollback } from './get-new-release.ts'
import { diskOf } from './mark-live.ts'
import { pruneReleases } from './prune-releases.ts'
import { findUnmeasured, recordSizes } from './releases-on-disk.ts'
import {
  attemptOf,
  baseOf,
  DONE,
  failed,
  runAndRead,
  runCommand,
  runCustomCommand,
  type StepContext,
  type StepHandler,
  type StepOutcome,
  unlogged,
} from './step.ts'

/** Runs any step: a user's command, or a built-in step. What those do on the server is in model/deploy. */
export function createStepHandler(deps: { db: Database; repositories: Repositories }): StepHandler {
  // A new built-in step needs its handler here to compile.
  const handlers = {
    'check-app-environment': (context) => checkEnvironment(deps.db, context),
    'get-new-release': createGetNewRelease(deps),
    'install-dependencies': (context) =>
      runApplicationCommand(context, 'install-dependencies', context.run.application!.installCommand),
    'build-application': (context) =>
      runApplicationCommand(context, 'build-application', context.run.application!.buildCommand),
    'activate-new-release': (context) => activateNewRelease(deps.db, context),
    'revert-release': async (context) => {
      const { run } = context
      const { releaseName, liveBefore } = run
      if (!liveBefore?.release) return failed('FAILED', NOTHING_BEFORE)
      await noteVersion(deps.db, context)
      const releases = { release: releaseName!, before: liveBefore.release }
      return runCommand(context, revertRelease(baseOf(run), attemptOf(context), releases))
    },
    'check-health': checkHealth,
    'remove-old-releases': (context) => removeOldReleases(deps.db, context),
  } satisfies Record<DeployStep, StepHandler>

  return async (context) => {
    const { step, detached } = context
    if (detached?.isRunning) {
      const outcome = await detached.attach(context)
      if (outcome.kind === 'done') return resumeDeploy(context)
      if (outcome.kind !== 'void') return outcome
    }
    const resumed = await resumeDeploy(context)
    if (resumed.kind !== 'done') return resumed
    if (!step.builtIn) return runCustomCommand(context, step.command!)
    // Stored names may be newer than this process.
    if (!Object.hasOwn(handlers, step.name)) return failed('FAILED', `Unknown built-in step: ${step.name}.`)
    return handlers[step.name as DeployStep](context)
  }
}

/** In the middle of a deploy: from here on this attempt, and no earlier one, may switch releases. */
async function resumeDeploy(context: StepContext): Promise<StepOutcome> {
  const { run, isResumed } = context
  const isInMiddle = run.application !== null && run.hasRelease && !run.isActivated
  return isResumed && isInMiddle ? runCommand(context, takeLock(baseOf(run), attemptOf(context))) : DONE
}

const NOTHING_BEFORE =
  'Nothing was live on this server before this run: there is no release to revert to, and the new one stays.'

/** Also corrects what is stored as live, if the server serves something else. */
async function checkEnvironment(db: Database, context: StepContext): Promise<StepOutcome> {
  const { run, signal, executor } = context
  const disk = { ...diskOf(run), base: baseOf(run) }
  await noteVersion(db, context)
  const output = withoutLiveLine(context.write)
  const { onOutput } = output
  // A rollback may find its release on the server: get-new-release demands the space if it has to fetch.
  const space = isRollback(run) ? { minFreeMiB: 0 } : {}
  const outcome = await runCommand(context, { ...checkAppEnvironment(disk.base, space), onOutput })
  await output.end()
  const reading = output.reading()
  if (!reading || signal.aborted) return outcome
  const { liveVersion: version } = run
  if (reading.kind !== 'broken' && isStoredAs(version, reading.kind === 'release' ? reading.name : null))
    return outcome
  if (version.startsWith('unknown')) await checkLive(db, executor, disk, signal)
  else {
    const store = () => storeReading(db, { ...disk, reading, version })
    if ((await retryOutage(store, signal)).isChanged)
      await context.line('What Gantry had stored as live here was different, and is corrected.')
  }
  return outcome
}

/** Before a command that reads or switches what is live. */
async function noteVersion(db: Database, { run, signal }: StepContext): Promise<void> {
  run.liveVersion = await retryOutage(() => readVersion(db, diskOf(run)), signal)
}

async function activateNewRelease(db: Database, context: StepContext): Promise<StepOutcome> {
  const { run } = context
  await noteVersion(db, context)
  const activate = activateRelease(baseOf(run), attemptOf(context), run.releaseName!)
  const { outcome, output } = await runAndRead(context, activate)
  const release = readLiveBefore(output)
  if (outcome.kind === 'done') run.liveBefore = { release, action_id: null, commit_sha: null }
  return outcome
}

async function runApplicationCommand(
  context: StepContext,
  name: 'install-dependencies' | 'build-application',
  command: string | null,
): Promise<StepOutcome> {
  if (context.run.isRolledBack) {
    await context.line('This release was built before: nothing to do.')
    return DONE
  }
  const resolved = applicationCommand(name, command)
  if (resolved.kind === 'command') return runCustomCommand(context, resolved.command)
  await context.line(resolved.line)
  return DONE
}

async function removeOldReleases(db: Database, context: StepContext): Promise<StepOutcome> {
  const pruned = await pruneReleases(db, context)
  return pruned.kind === 'done' ? measureNewReleases(db, context, diskOf(context.run)) : pruned
}

/** The step is done even if they cannot be measured. */
async function measureNewReleases(db: Database, context: StepContext, disk: Disk): Promise<StepOutcome> {
  const names = await retryOutage(() => findUnmeasured(db, disk), context.signal)
  if (names.length === 0) return DONE
  const timeoutMs = Math.min(MEASURE_MS, context.leftMs())
  const measure = { ...measureReleases(baseOf(context.run), names), timeoutMs }
  const { outcome, output } = await runAndRead(context, measure, unlogged)
  if (outcome.kind === 'stopped') return outcome
  await retryOutage(() => recordSizes(db, disk, readSizes(output)), context.signal)
  return DONE
}
