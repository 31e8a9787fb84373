# The folder of the account's steps, in which each step has its own.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh

# Whether steps can be detached here, as $problem says, and in which folder, $state. From then on it is the working folder, so that
# a step that puts a link in its place does not lead elsewhere.
is_able() {
  local tool said folder
  state=''
  for tool in setsid dd grep mkdir rm df tail head find; do
    if ! command -v "$tool" >/dev/null; then problem="it has no $tool"; return 1; fi
  done
  said=$(LC_ALL=C exec dd bs=1 count=0 iflag=skip_bytes skip=0 2>&1 </dev/null)
  if [[ $said != *bytes* || $said == *invalid* ]]; then problem='its dd knows no skip_bytes'; return 1; fi
  for folder in "${HOME:-/nowhere}/.gantry" "/var/tmp/gantry-$EUID"; do
    if is_usable "$folder" && cd -P -- "$folder" && is_folder . && [[ $PWD != *[[:space:]]* && $PWD != /run/* ]]; then
      state=$PWD
      break
    fi
  done
  if [[ $logind ]]; then
    said=''
    IFS= read -r said <&"$logind"
    exec {logind}<&-
    if [[ $said == *=yes ]]; then
      problem='logind ends what a connection leaves behind (KillUserProcesses=yes in logind.conf)'
      return 1
    fi
  fi
  if [[ $state ]]; then return; fi
  problem="the account can write to neither ${HOME:-its home}/.gantry nor /var/tmp/gantry-$EUID"
  return 1
}

# Not a link, and only the account can write to it. It is created if it is missing.
is_usable() {
  [[ $1 == /* ]] || return 1
  if ! exists "$1"; then mkdir -- "$1"; fi
  is_folder "$1" && [[ ! $(exec find "$1" -maxdepth 0 -perm /022) ]]
}

# A step may have taken the permissions away.
is_ours() { [[ -d $1 && ! -L $1 && -O $1 ]]; }
open_up() { if is_ours "$1" && ! is_folder "$1"; then chmod u+rwx -- "$1"; fi; }

# Takes the space that the end of the step needs: the disk may be full by then. Until then, `exit` is blank.
prepare() {
  printf '%s %s\n' "$2" "$2" >"$1/lease" && printf '0 0 0 0 0 0 0 0\n' >"$1/position" && printf '%-511s\n' '' >"$1/exit"
}

has_ended() {
  local word=''
  if is_plain "$1/exit"; then read -r -n 512 word _ <"$1/exit"; fi
  [[ $word ]]
}

# In $found the watcher of the step with the state $1 and the token $2; or `void`, which it may become; or `unreadable` and why.
find_state() {
  local path=$1 base=${1%/*} word pid begun tries
  found="unreadable $base is not a folder that only this account can write to"
  is_folder "$base" || return
  if ! exists "$path"; then
    hit 0 "$2"
    found="unreadable $path was removed while the step runs"
    ((n == 0)) || return
    # Of two that try, or of one and a late start, one succeeds.
    if mkdir -- "$path"; then
      found=void
      say void >"$path/supervisor"
      return
    fi
  fi
  for tries in {1..20}; do
    found="unreadable $path is not a folder of this account"
    is_folder "$path" || return
    word=''
    if is_plain "$path/supervisor"; then read -r word pid begun <"$path/supervisor"; fi
    if [[ $word == void ]]; then found=void; return; fi
    found="$word $pid $begun"
    if [[ $found =~ ^[0-9a-f-]{36}\ [0-9]+\ [0-9]+$ ]]; then return; fi
    found='- - -'
    if has_ended "$path"; then return; fi
    found="unreadable $path/supervisor is damaged"
    if [[ $word ]] || { exists "$path/supervisor" && ! is_plain "$path/supervisor"; }; then return; fi
    # Of a start that was interrupted before the step could start, unless it is about to.
    if ((tries == 20)) && ! exists "$path/supervisor" && (set -C; say void >"$path/supervisor"); then found=void; return; fi
    nap 0.1
  done
}

# Those of the owner $2, wherever this account may have state. Void ones only after a day.
list() {
  local path home
  for home in "$state" "/var/tmp/gantry-$EUID"; do
    [[ $home == /* ]] && is_folder "$home" || continue
    for path in "$home/$2"-*; do
      [[ ${path##*-} =~ ^[0-9a-f]{32}$ && ${path##*/} == "$2-${path##*-}" ]] && is_ours "$path" || continue
      if is_void "$path" && [[ ! $(find "$path" -maxdepth 0 -mmin +1440) ]]; then continue; fi
      say folder "$1" "$path"
    done
    if [[ $state == "/var/tmp/gantry-$EUID" ]]; then break; fi
  done
  say finished "$1" yes
}

is_void() {
  local word=''
  if is_plain "$1/supervisor"; then read -r word _ <"$1/supervisor"; fi
  [[ $word == void ]]
}

# With all that the steps still run.
remove() {
  local path word pid begun tries
  for path; do
    is_folder "${path%/*}" || return 1
    if has_ended "$path"; then continue; fi
    pid=''
    if is_plain "$path/supervisor"; then read -r word pid begun <"$path/supervisor"; fi
    if [[ $pid ]] && is_alive "$word" "$pid" "$begun"; then kill -s KILL -- "-$pid"; fi
    for ((tries = 0; tries < 100; tries++)); do
      hit KILL "${path##*-}"
      if ((n == 0)); then break; fi
      nap 0.1
    done
  done
  rm -rf -- "$@"
  for path; do
    exists "$path" || continue
    chmod -R u+rwx -- "$path"
    rm -rf -- "$path"
    if exists "$path"; then return 1; fi
  done
}
