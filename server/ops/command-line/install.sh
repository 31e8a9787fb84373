#!/bin/sh
# shellcheck shell=sh
# Installs gantry, the command line, from the instance at $1 into ~/.local/bin (or $GANTRY_INSTALL_DIR). No root needed.
set -eu

main() {
  url=$1
  folder=${GANTRY_INSTALL_DIR:-$HOME/.local/bin}

  command -v node >/dev/null 2>&1 || fail "gantry needs Node.js 20 or later: https://nodejs.org"
  major=$(node -p 'process.versions.node.split(".")[0]')
  [ "$major" -ge 20 ] || fail "gantry needs Node.js 20 or later; this is $(node --version)."

  mkdir -p "$folder" || fail "Failed to create $folder. Set GANTRY_INSTALL_DIR to a folder that you may write to."
  file=$(mktemp "$folder/.gantry.XXXXXX") || fail "Failed to write to $folder."
  trap 'rm -f "$file"' EXIT INT TERM

  download "$url/cli/gantry.mjs" > "$file" || fail "Failed to download $url/cli/gantry.mjs"
  expected=$(download "$url/cli/sha256" | cut -d ' ' -f 1) || fail "Failed to download $url/cli/sha256"
  actual=$(sha256 < "$file")
  [ -n "$expected" ] && [ "$expected" = "$actual" ] || fail "The download is damaged (sha256 $actual, expected $expected). Try again."

  chmod 755 "$file"
  mv -f "$file" "$folder/gantry"
  trap - EXIT INT TERM
  echo "Installed $("$folder/gantry" version) as $folder/gantry"
  case ":$PATH:" in
    *":$folder:"*) ;;
    *) echo "Add it to your PATH: export PATH=\"$folder:\$PATH\"" ;;
  esac
  echo "Next: gantry login $url"
}

fail() {
  echo "gantry: $1" >&2
  exit 1
}

download() {
  if command -v curl >/dev/null 2>&1; then curl -fsS --proto '=http,https' "$1"
  elif command -v wget >/dev/null 2>&1; then wget -q -O - "$1"
  else fail "curl or wget is needed."
  fi
}

sha256() {
  if command -v sha256sum >/dev/null 2>&1; then sha256sum
  elif command -v shasum >/dev/null 2>&1; then shasum -a 256
  else openssl dgst -sha256 -r
  fi | cut -d ' ' -f 1
}

main "$@"
