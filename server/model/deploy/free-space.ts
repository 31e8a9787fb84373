import { readScript } from '#platform/scripts.ts'
import type { DeployCommand } from './layout.ts'
import { plainCommand } from './shell.ts'

const DEMAND_SPACE = readScript('./demand-space.sh', import.meta.url)

/** What a new release may take. */
const MIN_FREE_MIB = 100

/** For a script with `demand_space`. */
export const leastFree = (minFreeMiB = MIN_FREE_MIB) => ({ GANTRY_LEAST_FREE_MIB: String(minFreeMiB) })

/** Before a rollback fetches a release: its check of the server demands no space. */
export function demandSpace(base: string): DeployCommand {
  return plainCommand(base, DEMAND_SPACE, leastFree())
}
