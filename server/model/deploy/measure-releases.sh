source ./prelude.sh

for name in $GANTRY_RELEASES; do
  is_release "$name" && [[ -d $releases/$name ]] || continue
  size=$(timeout -k 1 "$GANTRY_MEASURE_SECONDS" du -s -B1 -- "$releases/$name" 2>/dev/null) || continue
  say "gantry-size $name ${size%%[!0-9]*}"
done
