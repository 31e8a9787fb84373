import type { DeployCommand } from './layout.ts'
import { plainCommand } from './shell.ts'

/** What a new release may take. */
const MIN_FREE_MIB = 100

/** For a command with `FREE_SPACE`. */
export const leastFree = (minFreeMiB = MIN_FREE_MIB) => ({ GANTRY_LEAST_FREE_MIB: String(minFreeMiB) })

/** Bash: says how much of the disk is free, and fails if that is too little. */
export const FREE_SPACE = `
free=$(df -Pk -- "$GANTRY_BASE" 2>/dev/null)
if [[ $free =~ [[:space:]]([0-9]+)[[:space:]]+[0-9]+%[[:space:]] ]]; then
  mib=$((10#\${BASH_REMATCH[1]} / 1024))
  say "Free disk space: $mib MiB"
  (( mib >= GANTRY_LEAST_FREE_MIB )) ||
    fail "Only $mib MiB are free in $GANTRY_BASE, at least $GANTRY_LEAST_FREE_MIB MiB are needed: free some space, then deploy again."
else
  say "Free disk space: unknown"
fi
`

/** Before a rollback fetches a release: its check of the server demands no space. */
export function demandSpace(base: string): DeployCommand {
  return plainCommand(base, FREE_SPACE, leastFree())
}
