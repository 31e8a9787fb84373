source ./lock.sh

hold_lock
demand_latest
lines=()
for line in ${attempts[@]+"${attempts[@]}"}; do
  [[ ${line% *} == "$GANTRY_RUN" ]] || lines+=("$line")
done
# Long enough ago, no attempt of a run can still be on its way.
(( ${#lines[@]} > 100 )) && lines=("${lines[@]:${#lines[@]}-100}")
lines+=("$GANTRY_RUN $GANTRY_ATTEMPT")
write_attempts "${lines[@]}"

# Set aside under the lock, removed without it: by then the next attempt may be unpacking.
for folder in "$releases"/.*.part; do
  name=${folder##*/}
  [[ $name =~ ^\.[0-9]{14}-[0-9a-f]{8}\.part$ ]] || continue
  say "Removing the leftovers of an earlier attempt: $name"
  mv -T -- "$folder" "${folder%.part}.gone"
done
let_go
sweep
