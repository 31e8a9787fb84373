# See detached.ts. One for each account and connection: it starts watchers, passes on what they keep, and renews their leases.
# It is evaluated by the bash of bootstrap.sh, and reads orders from the rest of its input. Servers may have bash 4.2. Nothing
# is exported, and no signal is ignored: steps would inherit it.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 402)); then echo 'unavailable its bash is older than 4.2'; exit; fi
# With job control, what runs in the background does not ignore SIGINT.
set -m
trap : HUP INT TERM PIPE
shopt -s nullglob
exec 2>/dev/null
# It answers while the rest is read and looked at.
logind=''
if ((EUID != 0)) && command -v loginctl >/dev/null; then
  exec {logind}< <(exec timeout 5 loginctl show-session --property=KillUserProcesses </dev/null)
fi
mask=$(umask)
umask 077
# No process ever writes to it: waiting for input from it is a pause without a process.
exec 3<> <(:)

say() { printf '%s\n' "$*"; }
nap() { read -r -t "$1" -u 3; }
# Hundredths of a second since the machine started, asleep or not. It does not jump as clocks do.
clock() { local up; read -r up _ </proc/uptime; now=$((10#${up/./})); }
exists() { [[ -e $1 || -L $1 ]]; }
is_plain() { [[ -f $1 && ! -L $1 && -O $1 ]]; }
is_folder() { [[ -d $1 && ! -L $1 && -O $1 && -r $1 && -w $1 && -x $1 ]]; }
# Regular expressions cost a hundred times as much.
is_number() { [[ $1 && $1 != *[!0-9]* && ${#1} -lt 16 && ($1 == 0 || $1 != 0*) ]]; }
disk_of() { local said; said=$(LC_ALL=C df -P -- "$1" | tail -n 1); say "${said##* }"; }

source ./processes.sh
source ./state-folder.sh
source ./keep-output.sh
source ./watcher.sh
source ./follow.sh

# A step takes several processes. They are started while there is nothing else to do, and wait for one. Until then they
# know nothing of a step, and end with the supervisor.
warm_up() {
  local input output
  coproc WATCHER { watch; }
  output=${WATCHER[0]} input=${WATCHER[1]}
  exec {warm}>&"$input" {input}>&- {output}<&-
  read_start_of "$WATCHER_PID"
  watcher="$boot $WATCHER_PID $started"
}

# It may have been killed.
is_warm() {
  # shellcheck disable=SC2086
  [[ $warm ]] && is_alive $watcher
}

cool_down() {
  if [[ $warm ]]; then exec {warm}>&-; fi
  warm=''
}

# A step is one line of ASCII. Half of one is none; see bootstrap.sh.
read_step() {
  local rest
  text=''
  if ((BASH_VERSINFO[0] > 4)); then IFS= read -r -N "$1" text || exit; fi
  IFS= read -r rest || exit
  text+=$rest
  ((${#text} == $1)) || exit
}

start() {
  local id=$1 name=$2 tick=$3 said word=refused
  token=${name##*-}
  read_step "$7"
  if said=$(LC_ALL=C exec mkdir -- "./$name" 2>&1); then
    if prepare "./$name" "$tick" || said=$(LC_ALL=C prepare "./$name" "$tick" 2>&1); then
      # First: the step may remove it.
      if ! is_warm; then cool_down; warm_up; fi
      if follow "$id" "$state/$name" 0 "$watcher"; then
        printf '%s\n' "$name $4 $5 $6 ${#text}" "$text" >&"$warm"
        cool_down
        cooled=$now
      fi
      return
    fi
    rm -rf -- "./$name"
  elif exists "./$name"; then
    say end "$id" claimed
    return
  fi
  said=${said##*: }
  if [[ $said =~ space|quota ]]; then word=disk-full; fi
  say end "$id" "$word" "$(disk_of .) $said"
}

attach() {
  local id=$1 path=$5
  find_state "$path" "${2##*-}"
  case $found in
    void | unreadable*) say end "$id" "$found" ;;
    *) if follow "$id" "$path" "$3" "$found"; then renew_one "$id" "$4"; fi ;;
  esac
}

obey() {
  case $1 in
    renew) renew "$2"; say tick "$now" ;;
    start) start "${@:2}"; text='' ;;
    attach) attach "${@:2}" ;;
    more) credit[$2]=1 ;;
    cancel) if [[ ${folders[$2]} ]]; then cancelled[$2]=1; renew_one "$2" cancel; fi ;;
    leave) forget "$2" ;;
    list) list "$2" "$3" ;;
    expect) if ! is_warm; then cool_down; warm_up; fi ;;
    remove) if remove "${@:3}"; then say finished "$2" yes; else say finished "$2" no; fi ;;
  esac
}

if [[ ! -r /proc/uptime || ! -r /proc/self/environ ]]; then echo 'unavailable it has no /proc'; exit; fi
read -r boot </proc/sys/kernel/random/boot_id
if ! is_able; then say unavailable "$problem"; exit; fi
clock
# Output goes through a copy: inside of $( ) there is another one.
exec {channel}>&1
say ready "$now" "$state"

# The shorter the time since something happened, the sooner something may happen again.
heard=$now busy=$now pause=5 warm='' cooled=''
while :; do
  # A byte that arrives as time is up may be lost to bash. So an order begins behind an empty line, and only that is waited for.
  if read -r -t 0; then IFS= read -r -t 60 line || exit; else IFS= read -r -t "$pause" line; fi
  code=$?
  clock
  if ((code == 0)); then
    heard=$now busy=$now
    set -f
    # shellcheck disable=SC2086 # words without spaces
    set -- $line
    set +f
    if [[ $line ]]; then obey "$@"; fi
    if read -r -t 0; then continue; fi
  elif ((code <= 128 || now - heard > 6000)); then
    # Gantry has closed the channel, or sshd has not noticed that it is gone: it says something every few seconds.
    exit
  fi
  # On a slow connection, orders do not wait for the output of all steps.
  for id in "${!folders[@]}"; do
    poll "$id"
    if read -r -t 0; then break; fi
  done
  # Not while a step begins: it may be a short one.
  if [[ $cooled && ! $warm ]] && ((${#folders[@]} == 0 || now - cooled >= 10)) && ! read -r -t 0; then warm_up; fi
  pause=5
  if ((${#folders[@]} > 0)); then
    wait=$(((now - busy) * 10 / 8))
    printf -v pause '0.%03d' $((wait < 1 ? 1 : wait > 200 ? 200 : wait))
  fi
done
