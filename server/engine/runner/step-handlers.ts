import type { Repositories } from '#adapters/repositories/repositories.ts'
import { activateRelease } from '#model/deploy/activate-new-release.ts'
import { checkAppEnvironment } from '#model/deploy/check-app-environment.ts'
import { takeLock } from '#model/deploy/get-new-release.ts'
import { releasesToRemove, removeReleases } from '#model/deploy/remove-old-releases.ts'
import { applicationCommand } from '#model/deploy/shell.ts'
import type { DeployStep } from '#model/pipelines/built-in-steps.ts'
import type { Database } from '#platform/database/connect.ts'
import { retryOutage } from '#platform/database/outages.ts'
import { attemptOf, createGetNewRelease, findReleases } from './get-new-release.ts'
import { replaceReleases } from './releases-on-disk.ts'
import {
  baseOf,
  DONE,
  failed,
  runCommand,
  runCustomCommand,
  type StepContext,
  type StepHandler,
  type StepOutcome,
} from './step.ts'

/** Runs any step: a user's command, or a built-in step. What those do on the server is in model/deploy. */
export function createStepHandler(deps: { db: Database; repositories: Repositories }): StepHandler {
  // A new built-in step needs its handler here to compile.
  const handlers = {
    'check-app-environment': (context) => runCommand(context, checkAppEnvironment(baseOf(context.run))),
    'get-new-release': createGetNewRelease(deps),
    'install-dependencies': (context) =>
      runApplicationCommand(context, 'install-dependencies', context.run.application!.installCommand),
    'build-application': (context) =>
      runApplicationCommand(context, 'build-application', context.run.application!.buildCommand),
    'activate-new-release': (context) => {
      const { run } = context
      return runCommand(context, activateRelease(baseOf(run), attemptOf(context), run.releaseName!))
    },
    'remove-old-releases': (context) => removeOldReleases(deps.db, context),
  } satisfies Record<DeployStep, StepHandler>

  return async (context) => {
    const { step, run } = context
    // In the middle of a deploy: from here on this attempt, and no earlier one, may switch releases.
    if (context.isResumed && run.application !== null && run.hasRelease && !run.isActivated) {
      const locked = await runCommand(context, takeLock(baseOf(run), attemptOf(context)))
      if (locked.kind !== 'done') return locked
    }
    if (!step.builtIn) return runCustomCommand(context, step.command!)
    // Stored names may be newer than this process.
    if (!Object.hasOwn(handlers, step.name)) return failed('FAILED', `Unknown built-in step: ${step.name}.`)
    return handlers[step.name as DeployStep](context)
  }
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
  const { run } = context
  const found = await findReleases(context)
  if ('kind' in found) return found
  const disk = { applicationId: run.application!.id, serverId: run.server.id }
  const onDisk = found.releases.map(({ name }) => name)
  await retryOutage(() => replaceReleases(db, disk, onDisk), context.signal)
  const { deploymentsKeep } = run.application!
  const names = releasesToRemove(found, deploymentsKeep)
  if (names.length > 0) return runCommand(context, removeReleases(baseOf(run), attemptOf(context), names))
  await context.line(
    `Nothing to remove: keeping ${found.releases.length} of up to ${deploymentsKeep} releases.`,
  )
  return DONE
}
