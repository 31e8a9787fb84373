import type { DeployCommand } from './layout.ts'
import { demandReleaseName, NAME_IN_BASH } from './release-name.ts'
import { type Attempt, lockingCommand } from './shell.ts'

/**
 * Step 5: switches `current` in one go, so that at every moment it leads to a whole release. Only for the attempt
 * that has the lock; another one gets `LOCK_LOST`, and nothing changes. Harmless the second time.
 */
export function activateRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, ACTIVATE, { GANTRY_RELEASE: demandReleaseName(release) })
}

// The mark is set before the switch: it says that the release was complete, and a live one must have it.
const ACTIVATE = `
[[ $GANTRY_RELEASE =~ ${NAME_IN_BASH} ]] || fail "That is not the name of a release."
release=$releases/$GANTRY_RELEASE current=$GANTRY_BASE/current
hold_lock
demand_lock
[[ -d $release && ! -L $release ]] ||
  fail "The release $GANTRY_RELEASE is no longer on this server: deploy again."
[[ -e $current && ! -L $current ]] &&
  fail "$current must be a link to the live release, but something else has that name: move it away, then deploy again."
before=none
[[ -L $current ]] && before=$(readlink -- "$current")
{ mkdir -p -- "$state/activated" && : > "$state/activated/$GANTRY_RELEASE"; } 2>/dev/null ||
  fail "Cannot write to $state: the disk may be full, or the account has no write access."
rm -f -- "$state/next" && ln -s -- "releases/$GANTRY_RELEASE" "$state/next" && mv -fT -- "$state/next" "$current" ||
  fail "Cannot switch $current: the reason stands above."
say "Live before: \${before##*/}"
say "Live now: $GANTRY_RELEASE"
`
