source ./lock.sh

is_release "$GANTRY_RELEASE" || fail "This is not a release name."
release=$releases/$GANTRY_RELEASE current=$GANTRY_BASE/current
hold_lock
demand_lock
[[ -d $release && ! -L $release ]] ||
  fail "The release $GANTRY_RELEASE is no longer on this server: deploy again."
[[ -e $current && ! -L $current ]] &&
  fail "$current must be a link to the live release, but something else has that name: move it, then deploy again."
before=none
[[ -L $current ]] && before=$(readlink -- "$current") before=${before##*/}
read_mark "$before"
[[ $mark_run == "$GANTRY_RUN" ]] && before=$mark_before
[[ $before == "$GANTRY_RELEASE" ]] && before=none
report() {
  say "Live before: $before"
  say "Live now: $GANTRY_RELEASE"
}
# An attempt that was lost, or the connection to it, has switched already. It may have left the next link behind.
if [[ $mark_run == "$GANTRY_RUN" && $current -ef $release ]] && rm -f -- "$state/next"; then
  report
  exit 0
fi
# The mark is set before the switch: it means that the release was complete, and a live one must have it. It names the run
# and what was live before it: an attempt that was lost may have switched, and what counts is what that replaced. The link
# to revert with is made while there is room for it.
mark=$state/activated/$GANTRY_RELEASE
set_mark() {
  printf '%s\n' "$1" > "$state/mark.next" && mv -fT -- "$state/mark.next" "$mark" && return
  # A full disk has no room for another file: it replaces the first line, the only one that is read.
  rm -f -- "$state/mark.next"
  [[ -s $mark ]] && printf '%s\n' "$1" 1<> "$mark"
}
mkdir -p -- "$state/reverted" 2>/dev/null
{
  mkdir -p -- "$state/activated" && rm -f -- "$state/back" "$state/reverted/$GANTRY_RELEASE" &&
    set_mark "$GANTRY_RUN $before" &&
    if is_release "$before"; then ln -s -- "releases/$before" "$state/back"; fi
} 2>/dev/null ||
  fail "Cannot write to $state: the disk may be full, or the account has no write access."
rm -f -- "$state/next" && ln -s -- "releases/$GANTRY_RELEASE" "$state/next" && mv -fT -- "$state/next" "$current" ||
  fail "Cannot switch $current: see the error above."
report
