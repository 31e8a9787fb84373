# The steps that Gantry follows over this connection, by the number that it gave each.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh
folders=() watchers=() leases=() positions=() sent=() credit=() cancelled=() checked=() lost=()

# The state is opened once, so that nothing that takes the place of its files is read or written.
follow() {
  local id=$1 path=$2 fd lease
  read_result "$path"
  if open_plain "$path/lease" && lease=$fd && open_plain "$path/position"; then
    folders[id]=$path sent[id]=$3 watchers[id]=$4 leases[id]=$lease positions[id]=$fd credit[id]=1 checked[id]=$now
    return
  fi
  say end "$id" "${result:-unreadable the state in $path is damaged}"
  return 1
}

# Does not wait, even for a pipe.
open_plain() {
  is_plain "$1" && exec {fd}<>"$1" && [[ -f /proc/self/fd/$fd && $1 -ef /proc/self/fd/$fd ]]
}

forget() {
  local fd
  [[ ${folders[$1]} ]] || return
  fd=${leases[$1]}; exec {fd}<&-
  fd=${positions[$1]}; exec {fd}<&-
  unset "folders[$1]" "watchers[$1]" "leases[$1]" "positions[$1]" "sent[$1]" "credit[$1]" "cancelled[$1]" "checked[$1]" "lost[$1]"
}

renew() { local id; for id in "${!folders[@]}"; do renew_one "$id" "$1"; done; }
renew_one() { local value=$2; if [[ ${cancelled[$1]} ]]; then value=cancel; fi; say "$value $value" 1<>"/proc/self/fd/${leases[$1]}"; }

# Sends what is due: output first, then the result, or that the watcher was killed.
poll() {
  local id=$1 path=${folders[$1]} total head tail flood
  # The result before the position: there is no output after it.
  read_result "$path"
  read_position "$id"
  if ((flood && sent[id] >= total && now - checked[id] >= 50)); then measure_flood "$path"; fi
  if ((sent[id] < total)); then
    if ((credit[id])); then send_output "$id" "$path"; fi
  elif [[ $result ]]; then
    # While the watcher runs, it is not by the watcher, or not for long, or half of it.
    # shellcheck disable=SC2086
    if ! is_alive ${watchers[id]}; then read_result "$path"; say end "$id" "$result"; forget "$id"; fi
  elif [[ ${lost[id]} ]]; then
    end_lost "$id"
  elif ((now - checked[id] >= 50)); then
    checked[id]=$now
    # It may have stored the result just before.
    # shellcheck disable=SC2086
    if ! is_alive ${watchers[id]}; then lost[id]=0; fi
  fi
}

read_result() {
  local name value
  result=''
  is_plain "$1/exit" || return
  read -r -n 512 name value <"$1/exit"
  case $name in
    exited) if is_number "$value"; then result="$name $value"; fi ;;
    signalled | disk-full) if [[ $value && ${#value} -lt 400 ]]; then result="$name $value"; fi ;;
    timed-out | cancelled | lease-expired | supervisor-lost) result="$name${value:+ $value}" ;;
  esac
}

read_position() {
  local again
  read -r total head tail flood again <"/proc/self/fd/${positions[$1]}"
  if [[ $again == "$total $head $tail $flood" && $flood == [01] ]] && is_number "$total" && is_number "$head" && is_number "$tail"; then
    return
  fi
  total=0 head=0 tail=0 flood=0
}

# Of what is being added to the last segment.
measure_flood() {
  local file offset last=-1 size
  for file in "$1"/out.*; do
    offset=${file##*/out.}
    if is_number "$offset" && ((offset > last)); then last=$offset; fi
  done
  if ((last >= 0)) && is_plain "$1/out.$last" && size=$(wc -c <"$1/out.$last") && ((last + size > total)); then
    total=$((last + size))
  fi
}

send_output() {
  local id=$1 path=$2 at=${sent[$1]} start=-1 end=$total file offset fd length said=''
  if ((at >= head && at < tail)); then at=$tail; fi
  for file in "$path"/out.*; do
    offset=${file##*/out.}
    is_number "$offset" || continue
    if ((offset <= at && offset > start)); then start=$offset; fi
    if ((offset > at && offset < end)); then end=$offset; fi
  done
  if ((at < head && end > head)); then end=$head; fi
  length=$((end - at < 262144 ? end - at : 262144))
  if ((start >= 0)) && open_plain "$path/out.$start"; then
    read_position "$id"
    if ((at >= head && at < tail)); then exec {fd}<&-; return; fi
    say data "$id" "$at" "$length"
    said=$(LC_ALL=C exec dd "bs=$length" count=1 iflag=skip_bytes "skip=$((at - start))" <&"$fd" 2>&1 >&"$channel")
    exec {fd}<&-
    sent[id]=$((at + length)) credit[id]=0 busy=$now
    # Gantry could not tell where the next line begins.
    [[ $said =~ \ out[^0-9]+([0-9]+)\ byte ]] || exit
    if ((BASH_REMATCH[1] == length)); then return; fi
    head -c $((length - BASH_REMATCH[1])) /dev/zero
  else
    # In a flood of output, the segment may have been dropped while it was looked for.
    read_position "$id"
    if ((total == 0 || at >= head && at < tail)); then return; fi
  fi
  # The step has altered its output, and does without the rest.
  sent[id]=999999999999999
}

# Of an earlier boot there is nothing to end.
end_lost() {
  local id=$1 path=${folders[$1]} why=killed
  if is_void "$path"; then say end "$id" claimed; forget "$id"; return; fi
  hit KILL "${path##*-}"
  if ((n > 0 && lost[id] < 100)); then lost[id]=$((lost[id] + 1)); return; fi
  if [[ ${watchers[id]%% *} != "$boot" ]]; then why=restarted; fi
  if [[ $why == killed ]] && { has_ended "$path" || { exists "$path/exit" && ! is_plain "$path/exit"; }; }; then
    say end "$id" "unreadable $path/exit is damaged"
  else
    say end "$id" "supervisor-lost $why"
  fi
  forget "$id"
}
