folder=$GANTRY_ROOT
# The first run creates a missing folder, if the folder above allows it.
while [[ ! -e $folder && $folder != / ]]; do folder=$(dirname -- "$folder"); done
printf 'user %s\n' "$(id -un 2>/dev/null || id -u)"
printf 'disk %s\n' "$(df -Pk -- "$folder" 2>/dev/null | tail -n 1)"
[[ -d $folder && -w $folder && -x $folder ]] && echo writable
exit 0
