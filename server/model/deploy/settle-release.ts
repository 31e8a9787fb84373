import type { DeployCommand } from './layout.ts'
import { type Attempt, lockingCommand, plainCommand } from './shell.ts'

/**
 * After a switch whose outcome is not known: from now on no earlier command of this run can switch, not even one that
 * waits for the lock. Then prints what is live, for `parseLive`. Takes the lock from no other run, and touches nothing
 * that is being unpacked. `attempt` has a number that no earlier command of the run had; it fails with `LOCK_LOST` when a
 * later one was here first.
 */
export function settleRelease(base: string, attempt: Attempt): DeployCommand {
  return lockingCommand(base, attempt, SETTLE)
}

/** Only reads, for `parseLive`. */
export function readLive(base: string): DeployCommand {
  return plainCommand(base, 'print_live')
}

// Its line keeps its position: the last one names who may switch. Without a line, an earlier command of the run may still
// revert, so it gets one that is not the last.
const SETTLE = `
[[ -e $state ]] || { print_live; exit 0; }
hold_lock
lines=() is_listed=
if [[ -e $state/attempt ]]; then
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\\ ([0-9]{1,9})$ ]] || continue
    if [[ \${BASH_REMATCH[1]} == "$GANTRY_RUN" ]]; then
      (( 10#\${BASH_REMATCH[2]} > GANTRY_ATTEMPT )) && lost
      is_listed=yes line="$GANTRY_RUN $GANTRY_ATTEMPT"
    fi
    lines+=("$line")
  done < "$state/attempt"
fi
[[ -n $is_listed ]] || lines=("$GANTRY_RUN $GANTRY_ATTEMPT" "\${lines[@]}")
write_attempts() {
  printf '%s\\n' "\${lines[@]}" > "$state/attempt.next" && mv -fT -- "$state/attempt.next" "$state/attempt" && return
  # A full disk has no room for another file, but for one more line. That takes the lock, unless the run has it already.
  rm -f -- "$state/attempt.next"
  [[ \${lines[-1]} == "$GANTRY_RUN $GANTRY_ATTEMPT" && -s $state/attempt ]] &&
    printf '\\n%s\\n' "$GANTRY_RUN $GANTRY_ATTEMPT" >> "$state/attempt"
}
write_attempts 2>/dev/null ||
  fail "Cannot write $state/attempt: the disk may be full, or the account has no write access."
print_live
`
