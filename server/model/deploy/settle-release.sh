source ./lock.sh

[[ -e $state ]] || { print_live; exit 0; }
hold_lock
demand_latest
# The line of this run keeps its position: the last one names who may switch. Without a line, an earlier command of the run
# may still revert, so it gets one that is not the last.
own="$GANTRY_RUN $GANTRY_ATTEMPT" is_listed='' lines=()
for line in ${attempts[@]+"${attempts[@]}"}; do
  [[ ${line% *} == "$GANTRY_RUN" ]] && is_listed=yes line=$own
  lines+=("$line")
done
[[ -n $is_listed ]] || lines=("$own" ${lines[@]+"${lines[@]}"})
write_attempts "${lines[@]}"
print_live
