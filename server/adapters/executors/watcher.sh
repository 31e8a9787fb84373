# Runs one step to its end, whatever becomes of the supervisor, and leaves the result in the folder of the step.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh

# What the step's bash is started with: bootstrap.sh with another greeting, on descriptor 9.
# shellcheck disable=SC2016
STEP='echo "step $$" >&9; exec 9>&-; read -r __n; if ((BASH_VERSINFO[0] > 4)); then read -r -N "$__n" __t; fi; read -r __u || exit; eval "$__t$__u"'

watch() {
  local name=$1 lease=$2 timeout=$3 grace=$4 path=$state/$1 reason='' code='' pid='' noise='' kept='' report='' word rest fd status
  trap : HUP INT TERM PIPE
  set -m
  exec </dev/null >/dev/null
  for fd in "/proc/$BASHPID/fd"/*; do fd=${fd##*/}; if ((fd > 3)); then exec {fd}<&-; fi; done
  cd -P -- "./$name" && exec 4<>lease 5<>position 6<>./exit || exit
  # Files of this folder are created by us, or not at all.
  set -C
  read_start_of "$BASHPID"
  if ! say "$boot $BASHPID $started" >supervisor; then
    if is_void .; then exit; fi
    conclude "disk-full $(disk_of .) No space left on device"
  fi
  clock
  local begun=$now leased=$now deadline=0
  check_limits
  if [[ $reason ]]; then conclude "$reason"; fi

  coproc run_step
  local keeper=$COPROC_PID reports=${COPROC[0]} input=${COPROC[1]}
  exec 7<&"$reports" {reports}<&-
  # The only way that it takes.
  printf '%s\n%s\n' "${#text}" "$text" >&"$input"
  exec {input}>&-
  text=''
  while :; do
    hear 0.2
    status=$?
    if ((status == 0)); then
      case $word in
        step) pid=$rest ;;
        full) stop "disk-full $rest" "$grace" ;;
        kept) kept=yes ;;
        exit)
          code=$rest
          if [[ ! $reason ]]; then break; fi ;;
        # What bash says about a command that a signal has ended.
        *) noise=yes ;;
      esac
    elif ((status == 2)); then
      break
    fi
    clock
    if [[ ! $reason ]]; then
      check_limits
    else
      hit 0 "$token"
      if ((n == 0 || now > deadline)); then break; fi
    fi
  done
  kill_step
  # What escaped may keep the output open. It gets no more than a moment.
  for fd in 1 2; do
    while hear 2; status=$?; ((status == 0)); do
      case $word in
        exit) code=$rest ;;
        full) reason=${reason:-disk-full $rest} ;;
        kept) kept=yes ;;
        *) noise=yes ;;
      esac
    done
    if ((status == 2)); then break; fi
    kill -s TERM -- "-$keeper"
    kept=yes
  done
  if [[ ! $reason ]]; then
    # Without what keeps its output, the step could not write, and what it wrote before may be missing.
    if [[ ! $code || ! $kept ]]; then reason='supervisor-lost killed'
    elif [[ $noise ]] && ((code > 128)); then reason="signalled SIG$(kill -l $((code - 128)))"
    else reason="exited $code"; fi
  fi
  conclude "$reason"
}

# A report of the processes around the step, in $word and $rest. Returns 1 when none has come in time, 2 at their end.
hear() {
  local part status
  IFS= read -r -t "$1" -u 7 part
  status=$?
  # Time may be up in the middle of a line.
  report+=$part
  if ((status > 128)); then return 1; elif ((status > 0)); then return 2; fi
  word=${report%% *} rest=${report#* }
  report=''
}

# In two processes, with the one that keeps the output. Both write reports.
run_step() {
  set +m
  exec 9>&1 2>&1 8> >(keep_output)
  umask "$mask"
  GANTRY_COMMAND=$token setsid bash --norc -c "$STEP" bash >&8 2>&8 3>&- 4>&- 5>&- 6>&- 7>&- 8>&-
  say exit "$?" >&9
}

# The lease counts from the tick that Gantry has echoed last. In the future it would have no end.
check_limits() {
  local first second
  read -r first second </proc/self/fd/4
  if [[ $first == "$second" ]]; then
    if [[ $first == cancel ]]; then stop cancelled "$grace"; return; fi
    if is_number "$first"; then leased=$((first < now ? first : now)); fi
  fi
  if ((now - begun >= timeout)); then
    stop timed-out "$grace"
  elif ((now - leased >= lease)); then
    stop lease-expired $((grace < 500 ? grace : 500))
  fi
}

stop() {
  if [[ $reason ]]; then return; fi
  reason=$1
  hit TERM "$token"
  deadline=$((now + $2))
}

# Even SIGKILL does not end a process that hangs in the kernel.
kill_step() {
  local tries
  if [[ $pid ]]; then kill -s KILL -- "-$pid"; fi
  for ((tries = 0; tries < 100; tries++)); do
    hit KILL "$token"
    if ((n == 0)); then break; fi
    nap 0.1
  done
}

# Stores the result, wherever the step has moved the files, and ends.
conclude() {
  printf '%-511s\n' "$1" 1<>/proc/self/fd/6
  if [[ ! exit -ef /proc/self/fd/6 || ! -r exit || ! $path -ef . ]] || ! is_folder .; then
    open_up "${path%/*}"
    exists "$path" || mkdir -- "$path"
    open_up "$path"
    if is_folder "$path" && cd -P -- "$path"; then
      rm -rf -- ./exit
      say "$1" >./exit
    fi
  fi
  exit
}
