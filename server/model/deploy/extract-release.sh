source ./unfinished-release.sh

mkdir -- "$part" || fail "Cannot create the folder $part."
let_go
# Owners and permissions are those of the account that deploys, whatever the archive says. Not with -C, which
# reads backslashes in the name of a folder as escapes.
if (cd -- "$part" && exec tar -x -f - --no-same-owner --no-same-permissions); then
  # Tar may leave before the end of its input, and its sender must not find a closed pipe.
  cat >/dev/null
else
  rm -rf -- "$part"
  # A later attempt may have taken the folder away; then that is the reason.
  hold_lock
  demand_lock
  fail "The source could not be unpacked: see the error above."
fi
