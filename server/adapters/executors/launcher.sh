# See launcher.ts. Arguments: unshare, nsenter, setsid, the group of Gantry, the scripts of a view and of a keeper, and the
# command line that becomes a command. Descriptor 3 is a pipe on which nothing is ever sent: its end means that Gantry is dead.

# Without job control, bash makes background commands ignore SIGINT, and all that they start.
set -m
# Whatever else Gantry inherited when it was started is closed: no command gets it.
for fd in "/proc/$$/fd"/*; do fd=${fd##*/}; if ((fd > 3)); then exec {fd}<&-; fi; done

unshare=$1 nsenter=$2 setsid=$3 group=$4 view_script=$5 keeper_script=$6; shift 6
# Under an ordinary account, mounting takes a user namespace; a command leaves it for one without capabilities.
if ((UID != 0)); then
  may_mount=(--user --map-root-user)
  of_view=(--user=/proc/self/fd/7 --preserve-credentials)
  of_keeper=(--user --preserve-credentials)
  as_itself=("$unshare" --user "--map-user=$UID" "--map-group=$group")
fi
# With a /proc of the namespace: otherwise the process ids that scripts find there would be wrong.
own=(--mount --propagation=unchanged --pid --ipc --fork --kill-child --mount-proc)
bash=(/bin/bash --norc -c)
VIEW=("$unshare" "${may_mount[@]}" --mount --propagation=private "${bash[@]}" "$view_script" view)
KEEPER=("$nsenter" "${of_view[@]}" --mount=/proc/self/fd/6 "$unshare" "${own[@]}" "${bash[@]}" "$keeper_script")
ENTER=("$nsenter" "${of_keeper[@]}" --pid --mount --ipc)
COMMAND=("${as_itself[@]}" "$setsid" --fork --wait "$@")
MOUNTS=() USERS=()

report() { local said=${3//[[:cntrl:]]/ }; echo "$1 $2 ${said:0:500}"; }
close_views() { local fd; for fd in "${MOUNTS[@]}" "${USERS[@]}"; do exec {fd}<&-; done; }

fifos() { mkfifo -m 666 "${@:2}"; report made "$1" $?; }
view() {
  local id=$1 said fd; shift
  exec 5< <(close_views; exec "${VIEW[@]}" "$@" <&3 3<&- 2>&1)
  read -r -u 5 said
  if [ "$said" = ready ] && exec {fd}<"/proc/$!/ns/mnt" && MOUNTS[id]=$fd && exec {fd}<"/proc/$!/ns/user"; then
    USERS[id]=$fd
    report viewed "$id" 0
  else
    report viewed "$id" "1 $said"
  fi
  kill $! 2>/dev/null
  exec 5<&-
}
forget() {
  local fd=${MOUNTS[$1]}; [ "$fd" ] && exec {fd}<&-
  fd=${USERS[$1]}; [ "$fd" ] && exec {fd}<&-
  unset "MOUNTS[$1]" "USERS[$1]"
}
# Descriptor 5 reports when the sandbox is ready, and ends when nothing in it is alive.
open_sandbox() {
  local id=$1 view=$2 said keeper; shift 2
  exec 6<&"${MOUNTS[$view]}" 7<&"${USERS[$view]}"
  close_views
  exec 4>&1
  exec </dev/null 5< <(exec "${KEEPER[@]}" "$id" "$@" <&3 3<&- 2>&1) 6<&- 7<&-
  read -r -u 5 said
  if [ "$said" = ready ]; then
    read -r keeper <"/proc/$!/task/$!/children"
    echo "at $id $keeper"
  fi
  read -r -u 5
  report gone "$id" "0 $said"
}
# Opening one end of a pipe waits for the other, unless it is opened for both first: Gantry may be dead by now.
# A command can stop setsid, which waits for it; nsenter then stops, too. Its process group is known, to be continued.
# setsid reports a signal by an error message, with the number as exit code; bash would make 137 of both.
run_command() {
  local id=$1 in=/proc/$PPID/fd/$2 out=/proc/$PPID/fd/$3 keeper=$4 said; shift 4
  echo "at $id $BASHPID"
  exec </dev/null
  close_views
  while [ "$1" != -- ]; do export "${1?}"; shift; done; shift
  said=$(
    # shellcheck disable=SC2094 # they are pipes
    exec 6<>"$in" 7<>"$out" 8<"$in" 9>"$out"
    exec "${ENTER[@]}" "--target=$keeper" "$@" "${COMMAND[@]}" 2>&1 <&8 >&9 3<&- 6<&- 7<&- 8<&- 9<&-
  )
  report ended "$id" "$? $said"
}

sandbox() { open_sandbox "$@" & }
run() { run_command "$@" & }

# Each line is one of the functions, and its arguments as quoted words.
while read -r line; do eval "$line"; done
wait
