import { releaseFolder } from './release-folder.ts'
import { failed, runCommand, type StepOutcome, type StepTools } from './run-step.ts'
import { environmentOf } from './step-environment.ts'

/** A command that people wrote, in the folder of the release when there is one. */
export async function performOwn(tools: StepTools, command: string): Promise<StepOutcome> {
  const prepared = environmentOf(tools.run)
  if (prepared.kind === 'too-large') return failed('FAILED', prepared.message)
  for (const note of prepared.notes) await tools.line(note)
  return runCommand(tools, {
    command,
    environment: prepared.environment,
    workingFolder: releaseFolder(tools.run),
  })
}
