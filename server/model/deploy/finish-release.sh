source ./unfinished-release.sh
source ./link-shared-paths.sh

[[ -d $part && ! -L $part ]] || fail "Nothing was unpacked for the release $GANTRY_RELEASE."
let_go

set -f; IFS=$'\n'
for line in $GANTRY_SHARED_PATHS; do
  IFS=$' \t\n'
  link_shared "$part" "${line%% *}" "${line#* }"
done
set +f; IFS=$' \t\n'

hold_lock
demand_lock
there "$release" && fail "The release $GANTRY_RELEASE already exists on this server."
mv -T -- "$part" "$release" || fail "Cannot create the folder $release."
say "New release: $GANTRY_RELEASE"
