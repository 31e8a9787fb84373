import { readScript } from '#platform/scripts.ts'
import { leastFree } from './free-space.ts'
import type { DeployCommand } from './layout.ts'
import { plainCommand } from './shell.ts'

const CHECK = readScript('./check-app-environment.sh', import.meta.url)

/**
 * Step 1: creates the folders of the application, finds out early what would fail later, and prints a few facts.
 * Every error is one line that says what to do. Its last line is for `parseLive`.
 */
export function checkAppEnvironment(
  base: string,
  { minFreeMiB }: { minFreeMiB?: number } = {},
): DeployCommand {
  return plainCommand(base, CHECK, leastFree(minFreeMiB))
}
