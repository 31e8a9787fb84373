source ./lock.sh

hold_lock
# A later attempt of the same run may continue with this step without having taken the lock again.
read_attempts
if [[ $owner_run != "$GANTRY_RUN" ]] || (( owner_number > GANTRY_ATTEMPT )); then
  say "Another deploy of this application has started on this server: it will remove old releases."
  exit 0
fi
for name in $GANTRY_RELEASES; do
  is_release "$name" || fail "This is not a release name."
  folder=$releases/$name
  [[ -d $folder && ! -L $folder ]] || continue
  [[ $GANTRY_BASE/current -ef $folder ]] && continue
  # The marks later: a release that cannot be removed can still be activated again.
  mv -T -- "$folder" "$releases/.$name.gone" || fail "Cannot remove $folder: see the error above."
  rm -f -- "$state/activated/$name" "$state/reverted/$name"
  say "Removed: $name"
done
# An attempt may have been killed before it came to the marks.
read_stale_marks
rm -f -- ${stale[@]+"${stale[@]}"}
let_go
sweep
