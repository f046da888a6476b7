#!/usr/bin/env bash
# One library serves every Neovim: it may import symbols of Lua, luv, libuv and the C library, and no nvim_*. Its size
# is limited.
set -euo pipefail
source "$(dirname "$0")/env.sh"
library=${1:-build/claude_ide_native.so}

case $(uname -s) in
  Darwin) imported=$(nm -u "$library" | awk '{ sub(/^_/, "", $NF); print $NF }' | grep -E '^(nvim|lua|uv)' || true) ;;
  # Symbols of glibc and gcc's runtime carry a version; weak ones may be missing.
  *) imported=$(nm -D --undefined-only "$library" | awk '$1 != "w" && $NF !~ /@(GLIBC|GCC)/ { print $NF }') ;;
esac
[[ $imported ]] || { echo "$library imports nothing: not the library?" >&2; exit 1; }
if strangers=$(grep -vE '^(lua_|luaL_|luv_|uv_)' <<<"$imported"); then
  echo "$library imports what not every Neovim has:" >&2
  echo "$strangers" >&2
  exit 1
fi

# Names of our own functions are useless in it; they once made up a fifth of its size, though no setting had changed.
if [[ $(uname -s) == Linux ]] && [[ $(nm "$library" 2>/dev/null) ]]; then
  echo "$library is not stripped" >&2
  exit 1
fi

# rustc's stripping breaks loading on macOS 27, see Cargo.toml. Only a nightly cargo, or one told to act as such, prints
# its plan.
RUSTC_BOOTSTRAP=1 cargo build --release --locked --package claude-ide-nvim --unit-graph -Z unstable-options | "$python" -c '
import json, sys
units = json.load(sys.stdin)["units"]
linked = [unit for unit in units if {"proc-macro", "cdylib"} & set(unit["target"]["kind"])]
stripped = sorted(unit["pkg_id"] for unit in linked if unit["profile"]["strip"]["resolved"] != "None")
assert linked, "no unit that is linked?"
sys.exit(f"rustc strips {stripped}" if stripped else 0)
'

# Plugin managers build it and every Neovim maps it: the size limit.
limit=8000000
bytes=$(wc -c <"$library")
((bytes <= limit)) || { echo "$library has $bytes bytes; it may have $limit" >&2; exit 1; }
