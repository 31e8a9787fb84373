// What the commands share: output, failing, and the lock of an application's folder.

import { type DeployCommand, RELEASE_NAME } from './layout.ts'
import { LIVE } from './live-reading.ts'

/**
 * Identifies a deploy. `run` is one target of one action: the same in all its attempts, and never used by another
 * run, not even of another Gantry that deploys to the same folder. `number` grows with each attempt.
 */
export type Attempt = { run: string; number: number }

/** The exit code of a command that finds that another attempt holds the lock. */
export const LOCK_LOST = 75

// Commands hold the lock only for a moment, so this is plenty even on a very slow machine.
const LOCK_SECONDS = 60

const PRELUDE = `set -u
export LC_ALL=C
unset CDPATH TAR_OPTIONS POSIXLY_CORRECT
shopt -s nullglob
state=$GANTRY_BASE/.gantry releases=$GANTRY_BASE/releases
say() { printf '%s\\n' "$1"; }
fail() { say "$1"; exit "\${2:-1}"; }
# A link counts as there wherever it points to.
there() { [[ -e $1 || -L $1 ]]; }
# Which run activated the release $1, and what was live before it. Marks of older releases of Gantry are empty.
read_mark() {
  mark_run= mark_before=none
  local line
  [[ -s $state/activated/$1 ]] && IFS= read -r line < "$state/activated/$1" || return 0
  [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([A-Za-z0-9._-]+)$ ]] || return 0
  mark_run=\${BASH_REMATCH[1]} mark_before=\${BASH_REMATCH[2]}
}
# What current is, for \`parseLive\`: nothing, a release with its mark, or a broken link. What the account cannot see may
# be there.
print_live() {
  local current=$GANTRY_BASE/current name mark=missing folder=$GANTRY_BASE
  while [[ ! -d $folder && -n $folder ]]; do folder=\${folder%/*}; done
  [[ -x \${folder:-/} ]] || fail "The account $(id -un 2>/dev/null || id -u) cannot open $folder: give it access there."
  if [[ ! -L $current ]]; then
    if [[ -e $current ]]; then say '${LIVE}broken not-a-link'; else say '${LIVE}nothing'; fi
    return 0
  fi
  name=$(readlink -- "$current") name=\${name##*/}
  if [[ ! -e $current ]]; then
    say '${LIVE}broken dangling'
  elif [[ ! $name =~ ${RELEASE_NAME} || -L $releases/$name || ! $current -ef $releases/$name ]]; then
    say '${LIVE}broken outside'
  else
    if [[ -e $state/activated/$name ]]; then
      read_mark "$name"
      if [[ -n $mark_run ]]; then mark="run $mark_run $mark_before"
      elif [[ -s $state/activated/$name ]]; then mark=malformed
      else mark=empty; fi
    fi
    say "${LIVE}release $name $mark"
  fi
}
`

// Nothing slow may happen between hold_lock and let_go: the next deploy waits for it.
const LOCK = `
hold_lock() {
  [[ -d $state && ! -L $state && -d $releases && ! -L $releases ]] ||
    fail "$GANTRY_BASE is no longer an application folder: deploy again from the first step."
  { exec 9>>"$state/lock"; } 2>/dev/null || fail "Cannot write to $state: the account needs write access there."
  flock -w "$GANTRY_LOCK_SECONDS" 9 ||
    fail "Another deploy has held $state/lock for $GANTRY_LOCK_SECONDS seconds: look for a hanging process."
}
let_go() { exec 9>&-; }

# The last line of the file names who may switch current; those before it show late attempts that they are late.
read_owner() {
  owner_run= owner_number=0
  local line
  [[ -e $state/attempt ]] || return 0
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([0-9]{1,9})$ ]] || continue
    owner_run=\${BASH_REMATCH[1]} owner_number=$((10#\${BASH_REMATCH[2]}))
  done < "$state/attempt"
}
# A later attempt of this run was here, whether or not it may still switch.
demand_latest() {
  local line
  [[ -e $state/attempt ]] || return 0
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([0-9]{1,9})$ && \${BASH_REMATCH[1]} == "$GANTRY_RUN" ]] || continue
    (( 10#\${BASH_REMATCH[2]} > GANTRY_ATTEMPT )) && lost
  done < "$state/attempt"
  return 0
}
lost() { fail "Another deploy of this application has started on this server: this one stops here." ${LOCK_LOST}; }
# With the lock held.
demand_lock() {
  read_owner
  [[ $owner_run == "$GANTRY_RUN" && $owner_number == "$GANTRY_ATTEMPT" ]] || lost
}

# Removes what was set aside. Builds leave folders without write access behind, and files of other accounts.
sweep() {
  local folder
  for folder in "$releases"/.*.gone; do
    [[ \${folder##*/} =~ ^\\.[0-9]{14}-[0-9a-f]{8}\\.gone$ && ! -L $folder ]] || continue
    rm -rf -- "$folder" 2>/dev/null && continue
    chmod -R u+rwX -- "$folder" 2>/dev/null
    rm -rf -- "$folder" 2>/dev/null ||
      say "Could not remove all of $folder: some files belong to another account, or are in use."
  done
}
`

/** A command that needs no lock. */
export function plainCommand(base: string, text: string, values: Record<string, string> = {}): DeployCommand {
  return { command: PRELUDE + text, environment: { GANTRY_BASE: base, ...values } }
}

/** A command that may use the functions around the lock. */
export function lockingCommand(
  base: string,
  { run, number }: Attempt,
  text: string,
  values: Record<string, string> = {},
): DeployCommand {
  if (!/^[A-Za-z0-9._-]{1,100}$/.test(run))
    throw new Error('A run id consists of letters, digits, ".", "_" and "-".')
  if (!Number.isInteger(number) || number < 0 || number > 999_999_999)
    throw new Error('Attempts are numbered from 0 to 999999999.')
  return plainCommand(base, LOCK + text, {
    GANTRY_RUN: run,
    GANTRY_ATTEMPT: String(number),
    GANTRY_LOCK_SECONDS: String(LOCK_SECONDS),
    ...values,
  })
}

/** Steps 3 and 4 are commands of the application, to be run in the folder of the release. */
export type ApplicationCommand = { kind: 'command'; command: string } | { kind: 'nothing'; line: string }

const ABSENT = {
  'install-dependencies': 'This application has no install command: nothing to do.',
  'build-application': 'This application has no build command: nothing to do.',
}

/** A multi-line command ends at the first line that fails: a partial build must not go live. */
export function applicationCommand(step: keyof typeof ABSENT, command: string | null): ApplicationCommand {
  if (command === null || command.trim() === '') return { kind: 'nothing', line: ABSENT[step] }
  return { kind: 'command', command: `set -e; ${command}` }
}
