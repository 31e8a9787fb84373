import { assertReleaseName, type DeployCommand, RELEASE_NAME } from './layout.ts'
import { type Attempt, lockingCommand } from './shell.ts'

/**
 * Step 5: switches `current` atomically, so that it always points to a complete release. Only for the attempt that
 * holds the lock; another one gets `LOCK_LOST`, and nothing changes. Idempotent.
 */
export function activateRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, ACTIVATE, { GANTRY_RELEASE: assertReleaseName(release) })
}

// The mark is set before the switch: it means that the release was complete, and a live one must have it.
const ACTIVATE = `
[[ $GANTRY_RELEASE =~ ${RELEASE_NAME} ]] || fail "This is not a release name."
release=$releases/$GANTRY_RELEASE current=$GANTRY_BASE/current
hold_lock
demand_lock
[[ -d $release && ! -L $release ]] ||
  fail "The release $GANTRY_RELEASE is no longer on this server: deploy again."
[[ -e $current && ! -L $current ]] &&
  fail "$current must be a link to the live release, but something else has that name: move it, then deploy again."
before=none
[[ -L $current ]] && before=$(readlink -- "$current")
{ mkdir -p -- "$state/activated" && : > "$state/activated/$GANTRY_RELEASE"; } 2>/dev/null ||
  fail "Cannot write to $state: the disk may be full, or the account has no write access."
rm -f -- "$state/next" && ln -s -- "releases/$GANTRY_RELEASE" "$state/next" && mv -fT -- "$state/next" "$current" ||
  fail "Cannot switch $current: see the error above."
say "Live before: \${before##*/}"
say "Live now: $GANTRY_RELEASE"
`
