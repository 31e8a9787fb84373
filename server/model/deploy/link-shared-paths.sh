# Goes to the folder $2 below $1, creating missing parents. Leaves the real path of $1 in $top.
enter() {
  local rest=$2 part
  cd -P -- "$1" || fail "Cannot enter $1."
  top=$PWD
  while [[ -n $rest ]]; do
    part=${rest%%/*}
    if [[ $rest == */* ]]; then rest=${rest#*/}; else rest=; fi
    there "./$part" || mkdir -- "./$part" || fail "Cannot create the folder $PWD/$part."
    [[ -d ./$part ]] || fail "$PWD/$part is in the way of the shared path $path: it is not a folder."
    cd -P -- "./$part" || fail "Cannot enter $PWD/$part."
    [[ $PWD == "$top" || $PWD == "$top"/* ]] ||
      fail "The shared path $path leads out of $1 through the link $part: share another path."
  done
}

# Puts a link to shared/$3 into the release $1 that is being created. $2: the kind of a missing one.
link_shared() {
  local kind=$2 path=$3 name=${3##*/} parent='' store up=../../ depth
  [[ $path =~ ^[^/]+(/[^/]+)*$ && /$path/ != */./* && /$path/ != */../* ]] || fail "$path is not a shared path."
  [[ $path == */* ]] && parent=${path%/*}
  enter "$GANTRY_BASE/shared" "$parent"
  store=$PWD
  enter "$1" "$parent"
  depth=${PWD#"$top"}
  while [[ $depth == */* ]]; do up+=../ depth=${depth#*/}; done

  if there "$store/$name"; then
    :
  elif [[ -e ./$name && ! -L ./$name ]]; then
    say "Copying $path to the shared folder"
    rm -rf -- "$store/.gantry-part" && cp -a -- "./$name" "$store/.gantry-part" &&
      mv -T -- "$store/.gantry-part" "$store/$name" || fail "Cannot copy $path to $store."
  elif [[ $kind == folder ]]; then
    mkdir -- "$store/$name" || fail "Cannot create the folder $store/$name."
  fi
  rm -rf -- "./$name" && ln -s -- "${up}shared/$path" "./$name" || fail "Cannot link the shared path $path."
  say "Shared: $path"
}
