# Keeps what a step prints: the first 5 MiB and at least the last 5 MiB, in segments of 1 to 2 MiB named by their offset. Input is the
# output of the step; reports go to descriptor 9. `position` (5) says up to where there is output, from where to where it was dropped,
# and whether there is a flood of it; twice, as it may be read while it is written.
# shellcheck disable=SC2034,SC2154 # a part of supervisor.sh

keep_output() {
  local total=0 from=0 head=0 tail=0 flood=0 full=0 quick=0 starts=() name said status records before
  # The first line is from what becomes the step.
  read -r name && { [[ $path ]] || cd -P -- "./$name"; } && exec 5<>position || return
  set -C
  open_segment || return
  say keeps >&9
  while :; do
    clock
    before=$now
    # What it reads, it writes immediately; `head` would wait for more.
    said=$(LC_ALL=C exec dd bs=65536 "count=$((flood ? 16 : 1))" 2>&1 >&8 9>&-)
    status=$?
    [[ $said =~ ([0-9]+)\+([0-9]+)\ records\ in ]] && records=$((BASH_REMATCH[1] + BASH_REMATCH[2])) || return
    [[ $said =~ \ out[^0-9]+([0-9]+)\ byte ]] && total=$((total + BASH_REMATCH[1])) || return
    clock
    # After a megabyte without a pause, more at a time. Readers then look at the size of the last segment.
    if ((now - before < 5)); then full=$((BASH_REMATCH[1] > 32768 ? full + 1 : 0)) quick=$((quick + 1)); else full=0 quick=0; fi
    flood=$((full > 16))
    record_position
    if ((status != 0)); then
      [[ $said =~ writing[^:]*:\ ([^[:cntrl:]]*) ]]
      report_full "${BASH_REMATCH[1]:-cannot be written to}"
      return
    fi
    if ((records == 0)); then say kept >&9; return; fi
    if ((total - from >= 1048576)); then open_segment || return; fi
    drop_segments
    # Of many small pieces, what comes within a moment.
    if ((quick > 8 && full == 0)); then nap 0.05; fi
  done
}

open_segment() {
  from=$total
  if ((from >= 5242880)); then
    if ((head == 0)); then head=$from tail=$from; fi
    starts+=("$from")
  fi
  # The step may have put something in its place.
  if exists "out.$from"; then rm -rf -- "./out.$from"; fi
  exec 8>"out.$from" && return
  report_full 'cannot create a file'
  return 1
}

drop_segments() {
  while ((${#starts[@]} > 1 && total - starts[1] >= 5242880)); do
    tail=${starts[1]}
    # First: readers check it after they have opened a segment.
    record_position
    rm -f -- "./out.${starts[0]}"
    starts=("${starts[@]:1}")
  done
}

record_position() { say "$total $head $tail $flood $total $head $tail $flood" 1<>/proc/self/fd/5; }

report_full() { say full "$(disk_of .) $1" >&9; }
