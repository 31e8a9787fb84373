import type { DeployCommand } from './layout.ts'
import { LINK_SHARED_PATHS } from './link-shared-paths.ts'
import { demandReleaseName, NAME_IN_BASH } from './release-name.ts'
import type { SharedPath } from './shared-paths.ts'
import { type Attempt, lockingCommand } from './shell.ts'

/**
 * Step 2 begins with this, and so does a rollback: from now on only this attempt may switch `current`. Refused,
 * with `LOCK_LOST`, when a later attempt of the same run has been here. Whatever earlier attempts had begun to
 * unpack is removed: none of them can finish it any more.
 */
export function takeLock(base: string, attempt: Attempt): DeployCommand {
  return lockingCommand(base, attempt, TAKE_LOCK)
}

/**
 * Unpacks a tar from its standard input, beside the other releases and under another name. Tar takes an archive
 * that was cut between two files for a whole one: only who saw the archive come to its end may go on with
 * `finishRelease`.
 */
export function extractRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, EXTRACT, { GANTRY_RELEASE: demandReleaseName(release) })
}

/** Links the shared paths into what was unpacked, and makes it a release. */
export function finishRelease(
  base: string,
  attempt: Attempt,
  release: string,
  sharedPaths: readonly SharedPath[],
): DeployCommand {
  return lockingCommand(base, attempt, LINK_SHARED_PATHS + FINISH, {
    GANTRY_RELEASE: demandReleaseName(release),
    GANTRY_SHARED_PATHS: sharedPaths.map(({ kind, path }) => `${kind} ${path}`).join('\n'),
  })
}

const TAKE_LOCK = `
hold_lock
kept=()
if [[ -e $state/attempt ]]; then
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([0-9]{1,9})$ ]] || continue
    if [[ \${BASH_REMATCH[1]} == "$GANTRY_RUN" ]]; then
      (( 10#\${BASH_REMATCH[2]} > GANTRY_ATTEMPT )) && lost
    else
      kept+=("$line")
    fi
  done < "$state/attempt"
fi
# Long enough ago, no attempt of a run can still be on its way.
(( \${#kept[@]} > 100 )) && kept=("\${kept[@]:\${#kept[@]}-100}")
kept+=("$GANTRY_RUN $GANTRY_ATTEMPT")
{
  printf '%s\\n' "\${kept[@]}" > "$state/attempt.next" && mv -fT -- "$state/attempt.next" "$state/attempt"
} 2>/dev/null ||
  fail "Cannot write $state/attempt: the disk may be full, or the account has no write access."

# Set aside under the lock, removed without it: by then the next attempt may be unpacking.
for folder in "$releases"/.*.part; do
  name=\${folder##*/}
  [[ $name =~ ^\\.[0-9]{14}-[0-9a-f]{8}\\.part$ ]] || continue
  say "Removing what an earlier attempt left: $name"
  mv -T -- "$folder" "\${folder%.part}.gone"
done
let_go
sweep
`

const DEMAND_FREE_NAME = `
[[ $GANTRY_RELEASE =~ ${NAME_IN_BASH} ]] || fail "That is not the name of a release."
part=$releases/.$GANTRY_RELEASE.part release=$releases/$GANTRY_RELEASE
hold_lock
demand_lock
there "$release" && fail "The release $GANTRY_RELEASE exists on this server already."
`

const EXTRACT = `${DEMAND_FREE_NAME}
mkdir -- "$part" || fail "Cannot make the folder $part."
let_go
# Owners and permissions are those of the account that deploys, whatever the archive says. Not with -C, which
# reads backslashes in the name of a folder as escapes.
if (cd -- "$part" && exec tar -x -f - --no-same-owner --no-same-permissions); then
  # Tar may leave before the end of its input, and whoever sends it must not find nobody there.
  cat >/dev/null
else
  rm -rf -- "$part"
  # A later attempt may have taken the folder away; then that is the reason.
  hold_lock
  demand_lock
  fail "The source could not be unpacked: the reason stands above."
fi
`

const FINISH = `${DEMAND_FREE_NAME}
[[ -d $part && ! -L $part ]] || fail "Nothing was unpacked for the release $GANTRY_RELEASE."
let_go

set -f; IFS=$'\\n'
for line in $GANTRY_SHARED_PATHS; do
  IFS=$' \\t\\n'
  link_shared "$part" "\${line%% *}" "\${line#* }"
done
set +f; IFS=$' \\t\\n'

hold_lock
demand_lock
there "$release" && fail "The release $GANTRY_RELEASE exists on this server already."
mv -T -- "$part" "$release" || fail "Cannot make the folder $release."
say "New release: $GANTRY_RELEASE"
`
