source ./prelude.sh

for folder in "$releases"/*; do
  name=${folder##*/}
  is_release "$name" && [[ -d $folder && ! -L $folder ]] || continue
  what=never-live
  [[ -e $state/activated/$name ]] && what=was-live
  [[ -e $state/reverted/$name ]] && what=reverted
  [[ $GANTRY_BASE/current -ef $folder ]] && what=live
  say "gantry-release $name $what"
  [[ $what == live ]] && read_mark "$name" && say "gantry-before $mark_before"
done
read_stale_marks
for folder in "$releases"/.*.gone; do is_gone "$folder" && stale+=("$folder"); done
(( ${#stale[@]} > 0 )) && say gantry-leftovers
say gantry-releases-end
