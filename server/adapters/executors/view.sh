# Makes a view of the files. Arguments: `root` for commands of root, source and path of the server's root, then kind, id and
# path of everything to hide. A folder is entered before it is covered: so the one that was checked is the one that is
# covered, whatever happens to its path meanwhile.
set -e; umask 022
fail() { echo "$1"; exit 1; }
as=$1 source=$2 root=$3; shift 3
if [ "$root" ]; then
  { cd -P -- "$source" && [ "$(readlink /proc/self/cwd)" = "$source" ]; } || fail "$source has just been replaced"
  exec 4<.
fi
while [ $# -gt 0 ]; do
  kind=$1 id=$2 path=$3 at=$3 mode=ro; shift 3
  if [ "$kind" != file ] && [ -d "$path" ]; then cd -P -- "$path"; at=.; fi
  if [ "$(stat -Lc %d:%i -- "$at" 2>/dev/null)" != "$id" ]; then
    [ "$kind" = alias ] && continue
    fail "$path has been moved or replaced since Gantry started"
  fi
  if [ "$at" != . ]; then mount -c --bind /dev/null "$path"; continue; fi
  [ "$root" ] && [[ $root == "$path"/* ]] && mode=rw
  mount -c -t tmpfs -o "mode=755,nosuid,nodev,noexec,$mode" gantry .
  if [ $mode = rw ]; then
    mkdir -p -- "$root"
    mount -c --rbind /proc/self/fd/4 "$root"
    mount -o remount,bind,ro,nosuid,nodev,noexec "$path"
  fi
done
cd /
# Root without capabilities could still read disks and change the kernel's settings: it gets only harmless devices.
if [ "$as" = root ]; then
  for device in null zero full random urandom tty ptmx; do
    [ ! -e /dev/$device ] || mount --bind /dev/$device /dev/$device
  done
  mount -o remount,bind,nodev,nosuid /dev
  while read -r _ _ _ _ point _; do
    [[ $point == /sys || $point == /sys/* ]] && mount -o remount,bind,ro "$point"
  done </proc/self/mountinfo
fi
echo ready; read -r
