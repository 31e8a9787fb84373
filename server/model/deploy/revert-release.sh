# Deploys that have begun in the meantime do not matter as long as they have not switched. The mark is moved after the
# switch: an attempt that was killed in between finds the earlier release live, and moves it.
source ./lock.sh

is_release "$GANTRY_RELEASE" && is_release "$GANTRY_BEFORE" || fail "This is not a release name."
current=$GANTRY_BASE/current earlier=$releases/$GANTRY_BEFORE
hold_lock
demand_latest
live=none
[[ -L $current ]] && live=$(readlink -- "$current") live=${live##*/}
read_mark "$live"
if [[ $live == "$GANTRY_RELEASE" && $mark_run == "$GANTRY_RUN" ]]; then
  [[ -d $earlier && ! -L $earlier ]] ||
    fail "The release $GANTRY_BEFORE, which was live before, is no longer on this server: $live stays live."
  if [[ ! -L $state/back || $(readlink -- "$state/back") != "releases/$GANTRY_BEFORE" ]]; then
    rm -f -- "$state/back" && ln -s -- "releases/$GANTRY_BEFORE" "$state/back" ||
      fail "Cannot write to $state: the disk may be full. $live stays live."
  fi
  mv -fT -- "$state/back" "$current" || fail "Cannot switch $current: see the error above. $live stays live."
elif [[ $live != "$GANTRY_BEFORE" ]]; then
  [[ $live == none ]] && fail "Nothing is live on this server now: $current was removed."
  fail "$live is live now, and this run was not the last to switch: it stays."
elif [[ -e $state/reverted/$GANTRY_RELEASE ]]; then
  say "An earlier attempt has done this."
fi
read_mark "$GANTRY_RELEASE"
if [[ $mark_run == "$GANTRY_RUN" ]]; then
  { mkdir -p -- "$state/reverted" && mv -fT -- "$state/activated/$GANTRY_RELEASE" "$state/reverted/$GANTRY_RELEASE"; } 2>/dev/null ||
    rm -f -- "$state/activated/$GANTRY_RELEASE"
fi
say "Reverted: $GANTRY_RELEASE"
say "Live now: $GANTRY_BEFORE"
