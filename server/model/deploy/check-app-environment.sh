source ./free-space.sh

host=${HOSTNAME:-this server}
account=$(id -un 2>/dev/null || id -u)

for needed in tar:tar flock:util-linux mv:coreutils cp:coreutils df:coreutils; do
  command -v "${needed%:*}" >/dev/null ||
    fail "${needed%:*} is not installed on $host: install the package ${needed#*:}, then deploy again."
done

for folder in "$GANTRY_BASE" "$releases" "$GANTRY_BASE/shared" "$state" "$state/activated"; do
  if [[ $folder == "$releases" || $folder == "$state" ]] && [[ -L $folder ]]; then
    fail "$folder is a link and must be a folder: replace it, then deploy again."
  fi
  if [[ ! -d $folder ]]; then
    there "$folder" && fail "$folder is in the way of a folder of that name: move it, then deploy again."
    reason=$(mkdir -p -- "$folder" 2>&1) ||
      fail "The account $account cannot create the folder $folder (${reason##*: }): give it write access there, or set another root folder for this server."
  fi
  [[ -w $folder && -x $folder ]] ||
    fail "The account $account cannot write to $folder: give it write access there, then deploy again."
done

current=$GANTRY_BASE/current
if [[ -e $current && ! -L $current ]]; then
  print_live
  fail "$current must be a link to the live release, but something else has that name: move it, then deploy again."
fi

# Tested under the lock, so that only one deploy does it at a time.
{ exec 9>>"$state/lock"; } 2>/dev/null ||
  fail "The account $account cannot write to $state/lock: give it write access there, then deploy again."
flock -w 60 9 ||
  fail "flock cannot lock $state/lock: another deploy hangs, flock is not from util-linux, or the file system does not support locks."
# Only with links, for which a full disk has room.
probe=$state/probe
rm -rf -- "$probe" "$probe.next" && ln -s a "$probe" && ln -s b "$probe.next" &&
  mv -T -- "$probe.next" "$probe" && [[ -L $probe && ! -L $probe.next ]] ||
  fail "Links cannot be switched in $state: the disk may be full, or mv is not from GNU coreutils."
rm -f -- "$probe"
exec 9>&-

say "Server $host, account $account, folder $GANTRY_BASE"
demand_space
if [[ -L $current ]]; then
  live=$(readlink -- "$current")
  say "Live release: ${live##*/}"
else
  say "Live release: none yet"
fi
print_live
