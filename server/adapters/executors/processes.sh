# Of one account. Every process of a step carries its token in the environment, unless it has cleared that.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh

# Counts them in $n. Signal 0 only counts. As in guard.sh, a process gets SIGTERM once, not again as a member of its group.
hit() {
  local process all=(/proc/[0-9]*)
  n=0
  # A pattern with another folder would take bash longer.
  # shellcheck disable=SC2013 # their names have no spaces
  for process in $(LC_ALL=C exec grep -lsF "GANTRY_COMMAND=$2" "${all[@]/%//environ}"); do
    process=${process#/proc/} process=${process%/environ} n=$((n + 1))
    kill -s "$1" "$process"
    if [[ $1 == KILL ]]; then kill -s KILL -- "-$process"; fi
  done
}

# When the process $1 started, in $started; nothing for one that has ended. With it, a process is not mistaken for an earlier one
# with the same number.
read_start_of() {
  local stat=''
  started=''
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return
  set -f
  # The name, in parentheses, may contain anything.
  # shellcheck disable=SC2086
  set -- ${stat##*) }
  set +f
  if [[ $1 != [ZX] ]]; then started=${20}; fi
}

# A watcher, as it has recorded itself.
is_alive() {
  [[ $1 == "$boot" ]] || return 1
  read_start_of "$2"
  [[ $started && $started == "$3" ]]
}
