# The lock of an application's folder. Nothing slow may happen between hold_lock and let_go: the next deploy waits for it.
source ./prelude.sh

hold_lock() {
  [[ -d $state && ! -L $state && -d $releases && ! -L $releases ]] ||
    fail "$GANTRY_BASE is no longer an application folder: deploy again from the first step."
  { exec 9>>"$state/lock"; } 2>/dev/null || fail "Cannot write to $state: the account needs write access there."
  flock -w "$GANTRY_LOCK_SECONDS" 9 ||
    fail "Another deploy has held $state/lock for $GANTRY_LOCK_SECONDS seconds: look for a hanging process."
}
let_go() { exec 9>&-; }

# The lines of the file: the last names who may switch current, those before it show late attempts that they are late.
# `latest` is the last attempt of this run that was here, whether or not it may still switch.
read_attempts() {
  attempts=() owner_run='' owner_number=0 latest=0
  local line
  [[ -e $state/attempt ]] || return 0
  while IFS= read -r line; do
    [[ $line =~ ^([A-Za-z0-9._-]+)\ ([0-9]{1,9})$ ]] || continue
    attempts+=("$line") owner_run=${BASH_REMATCH[1]} owner_number=$((10#${BASH_REMATCH[2]}))
    if [[ $owner_run == "$GANTRY_RUN" ]] && (( owner_number > latest )); then latest=$owner_number; fi
  done < "$state/attempt"
}
write_attempts() {
  {
    printf '%s\n' "$@" > "$state/attempt.next" && mv -fT -- "$state/attempt.next" "$state/attempt" && return
    # A full disk has no room for another file, but for one more line: it takes the lock, so the last line must do so, too.
    rm -f -- "$state/attempt.next"
    [[ ${!#} == "$GANTRY_RUN $GANTRY_ATTEMPT" && -s $state/attempt ]] && printf '\n%s\n' "${!#}" >> "$state/attempt"
  } 2>/dev/null || fail "Cannot write $state/attempt: the disk may be full, or the account has no write access."
}
lost() { fail "Another deploy of this application has started on this server: this one stops here." 75; }
# With the lock held.
demand_lock() {
  read_attempts
  [[ $owner_run == "$GANTRY_RUN" && $owner_number == "$GANTRY_ATTEMPT" ]] || lost
}
demand_latest() {
  read_attempts
  (( latest <= GANTRY_ATTEMPT )) || lost
}

# Removes what was set aside. Builds leave folders without write access behind, and files of other accounts.
sweep() {
  local folder
  for folder in "$releases"/.*.gone; do
    is_gone "$folder" || continue
    rm -rf -- "$folder" 2>/dev/null && continue
    chmod -R u+rwX -- "$folder" 2>/dev/null
    rm -rf -- "$folder" 2>/dev/null ||
      say "Could not remove all of $folder: some files belong to another account, or are in use."
  done
}
