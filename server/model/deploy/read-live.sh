source ./prelude.sh

print_live
