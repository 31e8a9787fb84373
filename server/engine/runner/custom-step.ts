import { baseFolder, currentPath, releasePath, sharedPath } from '#model/deploy/layout.ts'
import { stepEnvironment } from '#model/deploy/variables.ts'
import type { Run } from './load-run.ts'
import { failed, runCommand, type StepContext, type StepOutcome } from './step.ts'

/** The folder of the application on the target. */
export function baseOf({ server, application }: Run): string {
  return baseFolder(server.rootDirectory, application!.folder)
}

/** Runs a command that a user wrote, in the folder of the release when there is one. */
export async function runCustomCommand(context: StepContext, command: string): Promise<StepOutcome> {
  const { run } = context
  const { application, deployment } = run
  const release = run.hasRelease ? run.releaseName : null
  const paths = release === null ? null : pathsOf(baseOf(run), release)
  const prepared = stepEnvironment({
    hookVariables: run.hookVariables,
    applicationVariables: application?.variables ?? [],
    facts: {
      actionId: run.actionId,
      targetId: run.targetId,
      environment: run.environmentName,
      server: run.server.name,
      application: application?.name ?? null,
      source: deployment?.source_ref
        ? { type: deployment.source_type as 'branch' | 'tag' | 'commit', ref: deployment.source_ref }
        : null,
      commit: run.commit?.hash ?? null,
      release,
      paths,
    },
  })
  if (prepared.kind === 'too-large') return failed('FAILED', prepared.message)
  for (const note of prepared.notes) await context.line(note)
  return runCommand(context, {
    command,
    environment: prepared.environment,
    workingFolder: paths?.release ?? null,
  })
}

function pathsOf(base: string, release: string) {
  return { release: releasePath(base, release), current: currentPath(base), shared: sharedPath(base) }
}
