source ./prelude.sh

# Says how much of the disk is free, and fails if that is too little.
demand_space() {
  local free mib
  free=$(df -Pk -- "$GANTRY_BASE" 2>/dev/null)
  if [[ $free =~ [[:space:]]([0-9]+)[[:space:]]+[0-9]+%[[:space:]] ]]; then
    mib=$((10#${BASH_REMATCH[1]} / 1024))
    say "Free disk space: $mib MiB"
    (( mib >= GANTRY_LEAST_FREE_MIB )) ||
      fail "Only $mib MiB are free in $GANTRY_BASE, at least $GANTRY_LEAST_FREE_MIB MiB are needed: free some space, then deploy again."
  else
    say "Free disk space: unknown"
  fi
}
