# What the scripts of deploys share. Values come from the environment, and servers may have bash 4.2.
set -u
export LC_ALL=C
unset CDPATH TAR_OPTIONS POSIXLY_CORRECT
shopt -s nullglob
state=$GANTRY_BASE/.gantry releases=$GANTRY_BASE/releases
say() { printf '%s\n' "$1"; }
fail() { say "$1"; exit "${2:-1}"; }
# A link counts as there wherever it points to.
there() { [[ -e $1 || -L $1 ]]; }
is_release() { [[ $1 =~ ^[0-9]{14}-[0-9a-f]{8}$ ]]; }
# What was set aside to be removed.
is_gone() { [[ ${1##*/} =~ ^\.[0-9]{14}-[0-9a-f]{8}\.gone$ && ! -L $1 ]]; }
# Those of releases that were removed.
read_stale_marks() {
  stale=()
  local mark
  for mark in "$state"/activated/* "$state"/reverted/*; do
    is_release "${mark##*/}" && ! there "$releases/${mark##*/}" && stale+=("$mark")
  done
}
# Which run activated the release $1, and what was live before it. Marks of older releases of Gantry are empty.
read_mark() {
  mark_run='' mark_before=none
  local line
  [[ -s $state/activated/$1 ]] && IFS= read -r line < "$state/activated/$1" || return 0
  [[ $line =~ ^([A-Za-z0-9._-]+)\ ([A-Za-z0-9._-]+)$ ]] || return 0
  mark_run=${BASH_REMATCH[1]} mark_before=${BASH_REMATCH[2]}
}
# What current is, for `parseLive`: nothing, a release with its mark, or a broken link. What the account cannot see may
# be there.
print_live() {
  local current=$GANTRY_BASE/current name mark=missing folder=$GANTRY_BASE
  while [[ ! -d $folder && -n $folder ]]; do folder=${folder%/*}; done
  [[ -x ${folder:-/} ]] || fail "The account $(id -un 2>/dev/null || id -u) cannot open $folder: give it access there."
  if [[ ! -L $current ]]; then
    if [[ -e $current ]]; then say 'gantry-live broken not-a-link'; else say 'gantry-live nothing'; fi
    return 0
  fi
  name=$(readlink -- "$current") name=${name##*/}
  if [[ ! -e $current ]]; then
    say 'gantry-live broken dangling'
  elif ! is_release "$name" || [[ -L $releases/$name || ! $current -ef $releases/$name ]]; then
    say 'gantry-live broken outside'
  else
    if [[ -e $state/activated/$name ]]; then
      read_mark "$name"
      if [[ -n $mark_run ]]; then mark="run $mark_run $mark_before"
      elif [[ -s $state/activated/$name ]]; then mark=malformed
      else mark=empty; fi
    fi
    say "gantry-live release $name $mark"
  fi
}
