import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Repositories } from '#adapters/repositories/repositories.ts'
import { activateRelease } from '#model/deploy/activate-new-release.ts'
import { checkAppEnvironment } from '#model/deploy/check-app-environment.ts'
import { extractRelease, finishRelease, takeLock } from '#model/deploy/get-new-release.ts'
import type { DeployCommand } from '#model/deploy/layout.ts'
import {
  canActivateAgain,
  type FoundReleases,
  listReleases,
  readReleases,
  releasesToRemove,
  removeReleases,
} from '#model/deploy/remove-old-releases.ts'
import { readSharedPaths } from '#model/deploy/shared-paths.ts'
import { applicationCommand } from '#model/deploy/shell.ts'
import type { Database } from '#platform/database/connect.ts'
import type { Commit } from '#platform/database/tables.ts'
import { agreeOnCommit, chooseRelease, type Release } from './choose-release.ts'
import { performOwn } from './perform-own.ts'
import { persist } from './persist.ts'
import { baseOf } from './release-folder.ts'
import { failed, runCommand, type StepOutcome, type StepTools, timedOut } from './run-step.ts'

type Perform = (tools: StepTools) => Promise<StepOutcome>

export type DeploySteps = {
  byName: ReadonlyMap<string, Perform>
  /** Before a later attempt goes on in the middle of a deploy: it is this one that may switch releases now. */
  takeOver: Perform
}

/** The six built-in steps. What they do on the server is in deploy/; here they are led. */
export function createDeploySteps(deps: { db: Database; repositories: Repositories }): DeploySteps {
  return {
    takeOver: async (tools) => {
      const isDeploy = tools.run.application !== null && tools.run.hasRelease && !tools.run.isActivated
      return isDeploy ? runCommand(tools, takeLock(baseOf(tools.run), attemptOf(tools))) : { kind: 'done' }
    },
    byName: new Map<string, Perform>([
      ['check-app-environment', (tools) => runCommand(tools, checkAppEnvironment(baseOf(tools.run)))],
      ['get-new-release', (tools) => getNewRelease(deps, tools)],
      [
        'install-dependencies',
        (tools) => runOwn(tools, 'install-dependencies', tools.run.application!.installCommand),
      ],
      [
        'build-application',
        (tools) => runOwn(tools, 'build-application', tools.run.application!.buildCommand),
      ],
      [
        'activate-new-release',
        (tools) =>
          runCommand(tools, activateRelease(baseOf(tools.run), attemptOf(tools), tools.run.releaseName!)),
      ],
      ['remove-old-releases', removeOldReleases],
    ]),
  }
}

const attemptOf = ({ run, attempt }: StepTools) => ({
  run: `${run.installation}-${run.targetId}`,
  number: attempt,
})

async function getNewRelease(
  { db, repositories }: { db: Database; repositories: Repositories },
  tools: StepTools,
): Promise<StepOutcome> {
  const { run } = tools
  const locked = await runCommand(tools, takeLock(baseOf(run), attemptOf(tools)))
  if (locked.kind !== 'done') return locked
  if (run.deployment?.type === 'rollback' && run.releaseName !== null) {
    const found = await findReleases(tools)
    if ('kind' in found) return found
    if (canActivateAgain(found, run.releaseName)) {
      run.isRolledBack = true
      run.hasRelease = true
      await tools.line(`The release ${run.releaseName} is still on the server: it is switched to as it is.`)
      return { kind: 'done' }
    }
    await tools.line(`The release ${run.releaseName} is no longer on the server: it is made again.`)
  }
  const resolved = await resolve(db, repositories, tools)
  if ('kind' in resolved) return resolved
  const release = await persist(
    () =>
      db
        .transaction()
        .execute((trx) =>
          chooseRelease(
            trx,
            { ...run, attempt: tools.attempt, applicationId: run.application!.id },
            resolved.commit,
            run.isAnew,
          ),
        ),
    tools.signal,
  )
  Object.assign(run, release)
  return unpack(repositories, tools, release)
}

async function resolve(
  db: Database,
  repositories: Repositories,
  tools: StepTools,
): Promise<{ commit: Commit } | StepOutcome> {
  const { application, commit, deployment } = tools.run
  const { access, repository, id } = application!
  const resolvedBefore = commit?.hash != null
  const source = resolvedBefore
    ? { type: 'commit' as const, ref: commit!.hash! }
    : { type: deployment!.source_type as 'branch' | 'tag' | 'commit', ref: deployment!.source_ref! }
  const timeUp = AbortSignal.timeout(tools.leftMs())
  const signal = AbortSignal.any([tools.signal, timeUp])
  const lines: Promise<void>[] = []
  const found = await repositories
    .resolve({
      applicationId: id,
      repository,
      provider: application!.provider,
      token:
        access?.kind === 'token'
          ? { secret: access.secret, ...(access.username && { username: access.username }) }
          : null,
      sshKey: access?.kind === 'key' ? access.secret : null,
      source,
      resolvedBefore,
      agreement: agreeOnCommit(db, { ...tools.run, attempt: tools.attempt }, signal),
      signal,
      onLine: (text) => void lines.push(tools.line(text)),
    })
    .catch((error) => {
      if (tools.signal.aborted) return { kind: 'stopped' as const }
      if (timeUp.aborted) return { kind: 'timed-out' as const }
      throw error
    })
  await Promise.all(lines)
  switch (found.kind) {
    case 'resolved':
      return { commit: found.commit }
    case 'stopped':
      return found
    case 'timed-out':
      return timedOut(tools.step.timeoutSeconds)
    case 'not-found':
    case 'failed':
      return failed('FAILED_SOURCE', found.message)
  }
}

/** Unpacked first and made a release afterwards: tar takes an archive that was cut short for a whole one. */
async function unpack(
  repositories: Repositories,
  tools: StepTools,
  { commit, releaseName }: Release,
): Promise<StepOutcome> {
  const { run } = tools
  const shared = readSharedPaths(run.application!.sharedPaths)
  if (shared.kind === 'faults') return failed('FAILED', faultySharedPaths(shared.faults))
  const archive = repositories.archive({
    applicationId: run.application!.id,
    hash: commit.hash!,
    rootDirectory: run.application!.rootDirectory,
    signal: tools.signal,
  })
  const input = new PassThrough()
  const sent = pipeline(archive, input).then(
    () => undefined,
    (error: Error) => error,
  )
  const extracted = await runCommand(tools, {
    ...extractRelease(baseOf(run), attemptOf(tools), releaseName),
    input,
  }).catch(() => undefined)
  const fault = await sent
  if (extracted && extracted.kind !== 'done') return extracted
  if (tools.signal.aborted) return { kind: 'stopped' }
  if (fault || !extracted)
    return failed('FAILED_SOURCE', `The source could not be sent: ${fault?.message ?? 'it broke off'}`)
  const finished = await runCommand(
    tools,
    finishRelease(baseOf(run), attemptOf(tools), releaseName, shared.paths),
  )
  if (finished.kind === 'done') run.hasRelease = true
  return finished
}

function faultySharedPaths(faults: { index: number; message: string }[]): string {
  const each = faults.map(({ index, message }) => `number ${index + 1}: ${message}`)
  return `The shared paths of the application are faulty (${each.join('; ')}).`
}

async function runOwn(
  tools: StepTools,
  name: 'install-dependencies' | 'build-application',
  command: string | null,
): Promise<StepOutcome> {
  if (tools.run.isRolledBack) {
    await tools.line('The release was made before: nothing to do.')
    return { kind: 'done' }
  }
  const own = applicationCommand(name, command)
  if (own.kind === 'command') return performOwn(tools, own.command)
  await tools.line(own.line)
  return { kind: 'done' }
}

async function removeOldReleases(tools: StepTools): Promise<StepOutcome> {
  const { run } = tools
  const found = await findReleases(tools)
  if ('kind' in found) return found
  const names = releasesToRemove(found, run.application!.deploymentsKeep)
  if (names.length === 0) {
    await tools.line(
      `Nothing to remove: ${found.releases.length} of ${run.application!.deploymentsKeep} releases are kept.`,
    )
    return { kind: 'done' }
  }
  return runCommand(tools, removeReleases(baseOf(run), attemptOf(tools), names))
}

async function findReleases(tools: StepTools): Promise<FoundReleases | StepOutcome> {
  const output: Buffer[] = []
  const command: DeployCommand = listReleases(baseOf(tools.run))
  const listed = await runCommand(tools, { ...command, onOutput: (chunk) => void output.push(chunk) })
  if (listed.kind !== 'done') return listed
  const found = readReleases(Buffer.concat(output).toString())
  return found ?? failed('FAILED', 'The releases on the server could not be listed.')
}
