# How the scripts that create a release begin. They hold the lock afterwards.
source ./lock.sh

is_release "$GANTRY_RELEASE" || fail "This is not a release name."
# shellcheck disable=SC2034 # for the scripts that source it
part=$releases/.$GANTRY_RELEASE.part release=$releases/$GANTRY_RELEASE
hold_lock
demand_lock
there "$release" && fail "The release $GANTRY_RELEASE already exists on this server."
