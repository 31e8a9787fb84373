# Waits for a step, runs it to its end, whatever becomes of the supervisor, and leaves the result in the folder of the step.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh

# What waits for the name of the step, on descriptor 0, in a session of its own. From then on it carries the token.
# shellcheck disable=SC2016
WAIT='read -r __m || exit; echo "$__m"; GANTRY_COMMAND=${__m##*-} exec bash --norc -c "$1" bash'
# What becomes of it: bootstrap.sh with another greeting, on descriptor 9.
# shellcheck disable=SC2016
STEP='echo "step $$" >&9; exec 9>&-; read -r __n; if ((BASH_VERSINFO[0] > 4)); then read -r -N "$__n" __t; fi; read -r __u || exit; eval "$__t$__u"'

watch() {
  local name lease timeout grace length path='' orders reason='' code pid noise kept report word rest fd status
  local keeper keeps input='' tries=0
  trap : HUP INT TERM PIPE
  set -m
  exec {orders}<&0 </dev/null >/dev/null
  for fd in "/proc/$BASHPID/fd"/*; do fd=${fd##*/}; if ((fd > 3 && fd != orders)); then exec {fd}<&-; fi; done
  prepare_step
  read -r -u "$orders" name lease timeout grace length || exit
  read_step "$length" <&"$orders"
  exec {orders}<&-
  token=${name##*-} path=$state/$name
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

  read_start_of "$keeper"
  if [[ ! $started ]]; then prepare_step; fi
  say "$name" >&"$input"
  while :; do
    hear 0.2
    status=$?
    if ((status == 0)); then
      case $word in
        step) pid=$rest ;;
        keeps) keeps=yes ;;
        full) stop "disk-full $rest" "$grace" ;;
        kept) kept=yes ;;
        exit)
          code=$rest
          # What waited was killed, and the step was not given to it.
          if [[ $input && ! $reason ]] && ((tries++ == 0)); then
            prepare_step
            say "$name" >&"$input"
          elif [[ ! $reason ]]; then
            break
          fi ;;
        # What bash says about a command that a signal has ended.
        *) noise=yes ;;
      esac
      if [[ $pid && $keeps && $input && ! $reason ]]; then give_step; fi
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
  if [[ $input ]]; then
    reason=${reason:-supervisor-lost killed}
    exec {input}>&-
  fi
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

# In place of one that was killed, if there was one.
prepare_step() {
  local reports
  if [[ $input ]]; then exec {input}>&-; fi
  pid='' keeps='' kept='' code='' noise='' report=''
  coproc run_step
  keeper=$COPROC_PID reports=${COPROC[0]} input=${COPROC[1]}
  exec 7<&"$reports" {reports}<&-
}

# Nothing of it has run before.
give_step() {
  # The only way that it takes.
  printf '%s\n' "${#text}" "$text" >&"$input"
  exec {input}>&-
  input='' text=''
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
  exec 7<&- {orders}<&-
  exec 9>&1 2>&1 8> >(keep_output)
  umask "$mask"
  setsid bash --norc -c "$WAIT" bash "$STEP" >&8 2>&8 3>&- 8>&-
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
