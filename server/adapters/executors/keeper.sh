# The first process of a sandbox. Arguments: its number, as $0, then what commands may only read. Descriptors 6 and 7 are the
# namespaces of the view, 4 takes reports. Bash does not notice a signal between its last check for signals and the moment at
# which `read` waits, and USR2 often follows USR1 closely: both are repeated, and each is handled once.
[ $$ = 1 ] || exit
exec 6<&- 7<&-
# What commands can leave behind in memory is in the sandbox alone, and can be seen: a sandbox in which something is left is
# not reused. Message queues exist without a /dev/mqueue, too: descriptor 8 lists them, on a mount that /dev/shm covers.
[ ! -d /dev/shm ] || { mount -t mqueue gantry /dev/shm 2>/dev/null && exec 8</dev/shm; }
[ ! -d /dev/shm ] || mount -t tmpfs -o mode=1777,nosuid,nodev gantry /dev/shm || exit
[ ! -d /dev/pts ] || mount -t devpts -o newinstance,ptmxmode=0666,mode=620 gantry /dev/pts || exit
[ ! -d /dev/mqueue ] || mount -t mqueue gantry /dev/mqueue || exit
for file; do [ ! -e "$file" ] || mount -o bind,ro "$file" "$file" || exit; done

# SIGTERM to everyone.
terminate() { trap '' USR1; terminated=1; kill -TERM -1; }
trap terminate USR1

# The command itself has ended, so the others must go, and the sandbox with them; after a SIGTERM they keep their grace period.
end() {
  trap '' USR1 USR2
  while [ "$terminated" ] && kill -0 -1 && { read -r -t 0.02; (($? > 128)); }; do :; done
  exit
}
trap end USR2

# Kills what the command left behind. The sandbox is then reused, unless something other than a process is left in it, or
# USR1 came, which a command can send, too.
is_spoiled() {
  while kill -KILL -1; do read -r -t 0.01; (($? > 128)) || return 0; done
  for file in /proc/sysvipc/*; do [ ! -e "$file" ] || { read -r; ! read -r; } <"$file" || return 0; done
  local left=(/dev/shm/* /proc/self/fd/8/*)
  [ "$terminated" ] || ((${#left[@]} > 0)) || [ ! -e /proc/self/fd/8 ]
}
shopt -s nullglob dotglob
clean() { is_spoiled && exit; echo "clean $0 0" >&4; }
trap clean URG

echo ready; exec >&- 2>&-; read -r
