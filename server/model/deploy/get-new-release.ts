import { assertReleaseName, type DeployCommand, RELEASE_NAME } from './layout.ts'
import type { SharedPath } from './shared-paths.ts'
import { type Attempt, lockingCommand } from './shell.ts'

/**
 * Step 2 and rollbacks begin with this: from now on only this attempt may switch `current`. Fails with `LOCK_LOST`
 * when a later attempt of the same run was here first. Removes what earlier attempts began to unpack: none of them
 * can finish it any more.
 */
export function takeLock(base: string, attempt: Attempt): DeployCommand {
  return lockingCommand(base, attempt, TAKE_LOCK)
}

/**
 * Unpacks a tar from its standard input, next to the other releases and under another name. To tar, an archive that
 * was cut between two files looks complete: call `finishRelease` only after the whole archive was sent.
 */
export function extractRelease(base: string, attempt: Attempt, release: string): DeployCommand {
  return lockingCommand(base, attempt, EXTRACT, { GANTRY_RELEASE: assertReleaseName(release) })
}

/** Links the shared paths into what was unpacked, and turns it into a release. */
export function finishRelease(
  base: string,
  attempt: Attempt,
  release: string,
  sharedPaths: readonly SharedPath[],
): DeployCommand {
  return lockingCommand(base, attempt, LINK_SHARED_PATHS + FINISH, {
    GANTRY_RELEASE: assertReleaseName(release),
    GANTRY_SHARED_PATHS: sharedPaths.map(({ kind, path }) => `${kind} ${path}`).join('\n'),
  })
}

/**
 * Bash: `link_shared <release> <kind> <path>` puts a link to `shared/<path>` into a release that is being created.
 *
 * A release may contain links of any kind, and so may what was copied from one into `shared`. No link is ever
 * followed out of either: parents are entered one by one, and the result is checked; a link at the location of a
 * shared path is replaced and never copied; links deeper inside are copied as links.
 */
const LINK_SHARED_PATHS = `
# Goes to the folder $2 below $1, creating missing parents. Leaves the real path of $1 in $top.
enter() {
  local rest=$2 part
  cd -P -- "$1" || fail "Cannot enter $1."
  top=$PWD
  while [[ -n $rest ]]; do
    part=\${rest%%/*}
    if [[ $rest == */* ]]; then rest=\${rest#*/}; else rest=; fi
    there "./$part" || mkdir -- "./$part" || fail "Cannot create the folder $PWD/$part."
    [[ -d ./$part ]] || fail "$PWD/$part is in the way of the shared path $path: it is not a folder."
    cd -P -- "./$part" || fail "Cannot enter $PWD/$part."
    [[ $PWD == "$top" || $PWD == "$top"/* ]] ||
      fail "The shared path $path leads out of $1 through the link $part: share another path."
  done
}

link_shared() {
  local kind=$2 path=$3 name=\${3##*/} parent= store up=../../ depth
  [[ $path =~ ^[^/]+(/[^/]+)*$ && /$path/ != */./* && /$path/ != */../* ]] || fail "$path is not a shared path."
  [[ $path == */* ]] && parent=\${path%/*}
  enter "$GANTRY_BASE/shared" "$parent"
  store=$PWD
  enter "$1" "$parent"
  depth=\${PWD#"$top"}
  while [[ $depth == */* ]]; do up+=../ depth=\${depth#*/}; done

  if there "$store/$name"; then
    :
  elif [[ -e ./$name && ! -L ./$name ]]; then
    say "Copying $path to the shared folder"
    rm -rf -- "$store/.gantry-part" && cp -a -- "./$name" "$store/.gantry-part" &&
      mv -T -- "$store/.gantry-part" "$store/$name" || fail "Cannot copy $path to $store."
  elif [[ $kind == folder ]]; then
    mkdir -- "$store/$name" || fail "Cannot create the folder $store/$name."
  fi
  rm -rf -- "./$name" && ln -s -- "\${up}shared/$path" "./$name" || fail "Cannot link the shared path $path."
  say "Shared: $path"
}
`

const TAKE_LOCK = `
hold_lock
lines=()
if [[ -e $state/attempt ]]; then
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([0-9]{1,9})$ ]] || continue
    if [[ \${BASH_REMATCH[1]} == "$GANTRY_RUN" ]]; then
      (( 10#\${BASH_REMATCH[2]} > GANTRY_ATTEMPT )) && lost
    else
      lines+=("$line")
    fi
  done < "$state/attempt"
fi
# Long enough ago, no attempt of a run can still be on its way.
(( \${#lines[@]} > 100 )) && lines=("\${lines[@]:\${#lines[@]}-100}")
lines+=("$GANTRY_RUN $GANTRY_ATTEMPT")
write_attempts() {
  printf '%s\\n' "\${lines[@]}" > "$state/attempt.next" && mv -fT -- "$state/attempt.next" "$state/attempt" && return
  # A full disk has no room for another file, but for one more line.
  rm -f -- "$state/attempt.next"
  [[ -s $state/attempt ]] && printf '\\n%s\\n' "$GANTRY_RUN $GANTRY_ATTEMPT" >> "$state/attempt"
}
write_attempts 2>/dev/null ||
  fail "Cannot write $state/attempt: the disk may be full, or the account has no write access."

# Set aside under the lock, removed without it: by then the next attempt may be unpacking.
for folder in "$releases"/.*.part; do
  name=\${folder##*/}
  [[ $name =~ ^\\.[0-9]{14}-[0-9a-f]{8}\\.part$ ]] || continue
  say "Removing the leftovers of an earlier attempt: $name"
  mv -T -- "$folder" "\${folder%.part}.gone"
done
let_go
sweep
`

const DEMAND_FREE_NAME = `
[[ $GANTRY_RELEASE =~ ${RELEASE_NAME} ]] || fail "This is not a release name."
part=$releases/.$GANTRY_RELEASE.part release=$releases/$GANTRY_RELEASE
hold_lock
demand_lock
there "$release" && fail "The release $GANTRY_RELEASE already exists on this server."
`

const EXTRACT = `${DEMAND_FREE_NAME}
mkdir -- "$part" || fail "Cannot create the folder $part."
let_go
# Owners and permissions are those of the account that deploys, whatever the archive says. Not with -C, which
# reads backslashes in the name of a folder as escapes.
if (cd -- "$part" && exec tar -x -f - --no-same-owner --no-same-permissions); then
  # Tar may leave before the end of its input, and its sender must not find a closed pipe.
  cat >/dev/null
else
  rm -rf -- "$part"
  # A later attempt may have taken the folder away; then that is the reason.
  hold_lock
  demand_lock
  fail "The source could not be unpacked: see the error above."
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
there "$release" && fail "The release $GANTRY_RELEASE already exists on this server."
mv -T -- "$part" "$release" || fail "Cannot create the folder $release."
say "New release: $GANTRY_RELEASE"
`
