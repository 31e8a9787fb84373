# A one-liner: see scripts.ts. A process gets SIGTERM once, not again as a member of its group: its handler would run twice.
trap "" HUP INT TERM PIPE; read -r marks silence; echo "ready $marks"; exec 2>/dev/null;
hit() {
  n=0;
  # shellcheck disable=SC2013 # their names have no spaces
  for p in $(grep -lsF "$2" /proc/[0-9]*/environ); do
    p=${p#/proc/}; p=${p%/environ}; n=$((n + 1));
    kill -s "$1" "$p";
    if [ "$1" = KILL ]; then kill -s KILL -- "-$p"; fi;
  done;
};
# shellcheck disable=SC2086,SC2229 # silence is an option and its value, or nothing
while read -r $silence id word mark group; do
  case $word in
    beat) ;;
    bye) exit ;;
    watch) groups="$groups $group " ;;
    forget) groups=${groups/ $group /} ;;
    *)
      hit "$word" "GANTRY_COMMAND=$mark";
      if [ "$n" = 0 ]; then kill -s "$word" -- "-$group"; fi;
      echo "$id $n" ;;
  esac;
done;
for group in $groups; do kill -s KILL -- "-$group"; done;
for pause in 0 0 0 0 1 1 1 1 1 1; do
  hit KILL "GANTRY_COMMAND=$marks";
  if [ "$n" = 0 ]; then break; fi;
  sleep "$pause";
done
