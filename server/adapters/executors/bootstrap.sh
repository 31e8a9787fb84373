# A one-liner: see scripts.ts. Half a preamble is none. Old versions of bash cannot read a given length, so they read the line.
echo "gantry-bash-is-ready $$"; read -r __n;
if ((BASH_VERSINFO[0] > 4)); then read -r -N "$__n" __t; fi;
read -r __u || exit; eval "$__t$__u"
