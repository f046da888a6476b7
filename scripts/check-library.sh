#!/usr/bin/env bash
# The conditions that a library has to meet, each a gate. One library serves every Neovim of its kind of machine.
#   check-library.sh [LIBRARY [TARGET [GATE]...]]    TARGET: a triple that the library is released for; "": built for this machine
set -euo pipefail
library=$(realpath "${1:-$(dirname "$0")/../build/claude_ide_native.so}")
source "$(dirname "$0")/env.sh"
target=${2:-}
gates=("${@:3}")
oldest_glibc=2.17
most_bytes=8000000

fail() { echo "$library: $*" >&2; exit 1; }
is_for_macos() { case $target in *-darwin) true ;; "") [[ $(uname -s) == Darwin ]] ;; *) false ;; esac; }

dynamic_symbols() { readelf --dyn-syms --wide "$library"; }

# It may import Lua's, luv's, libuv's and the C library's symbols, and no nvim_*.
symbols() {
  local imported strangers
  if is_for_macos; then
    imported=$(nm -u "$library" | awk '{ sub(/^_/, "", $NF); print $NF }' | grep -E '^(nvim|lua|uv)' || true)
  else
    # Weak symbols may be missing. What glibc and gcc's runtime define carries their version.
    imported=$(dynamic_symbols | awk '$7 == "UND" && $5 == "GLOBAL" && $8 !~ /@(GLIBC|GCC)/ { print $8 }')
    if [[ $target == *-musl ]]; then # which has no versions: rustc comes with musl itself
      local musl
      musl=$(rustc --print sysroot)/lib/rustlib/$target/lib/self-contained/libc.a
      imported=$(grep -vxFf <(readelf --syms --wide "$musl" | awk '$7 != "UND" && $5 != "LOCAL" { print $8 }') <<<"$imported" || true)
    fi
  fi
  [[ $imported ]] || fail "imports nothing of Neovim: not the library?"
  if strangers=$(grep -vE '^(lua_|luaL_|luv_|uv_)' <<<"$imported"); then
    fail "imports what not every Neovim has: $(tr '\n' ' ' <<<"$strangers")"
  fi
}

# It runs beside glibc of the oldest systems that Rust itself supports.
glibc() {
  [[ $target == *-gnu ]] || return 0
  local newest
  newest=$(dynamic_symbols | grep -o '@GLIBC_[0-9.]*' | sed 's/@GLIBC_//' | sort --version-sort | tail -n 1)
  [[ $(printf '%s\n' "$newest" "$oldest_glibc" | sort --version-sort | tail -n 1) == "$oldest_glibc" ]] ||
    fail "needs glibc $newest; it may need $oldest_glibc"
}

# It needs no library that a system may not have, as libgomp.
needed() {
  local strangers
  if is_for_macos; then
    strangers=$(otool -L "$library" | awk 'NR > 2 { print $1 }' | grep -vE '^(/usr/lib/|/System/Library/)' || true)
  else
    strangers=$(readelf --dynamic --wide "$library" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
      grep -vE '^(lib(c|m|dl|pthread|gcc_s)\.so(\.[0-9]+)?|ld-linux[a-z0-9_-]*\.so\.[0-9])$' || true)
  fi
  [[ ! $strangers ]] || fail "needs $(tr '\n' ' ' <<<"$strangers")"
}

# A plugin manager downloads it and every Neovim maps it.
size() {
  local bytes
  bytes=$(wc -c <"$library")
  ((bytes <= most_bytes)) || fail "has $bytes bytes; it may have $most_bytes"
}

# Names of our own functions serve nothing in it; they were a fifth of its size once, and no setting had changed.
stripped() {
  is_for_macos || ! readelf --sections --wide "$library" | grep -qE ' \.(symtab|debug_info) ' || fail "is not stripped"
}

# macOS refuses a library without a signature, and one whose table of strings is not aligned (rust-lang/rust#157750).
signature() {
  is_for_macos || return 0
  codesign --verify --strict "$library" || fail "has no valid signature"
  local offset
  offset=$(otool -l "$library" | awk '$1 == "stroff" { print $2 }')
  ((offset % 8 == 0)) || fail "has its table of strings at $offset, which 8 does not divide"
}

# The same for another kind of machine, of which setup.sh has a Neovim; for musl only the C library, so a program with Neovim's symbols
# stands in, which shows that all others are found.
loads_elsewhere() {
  local runtime=$deps/runtime-$target machine=${target%%-*} run=() said expected
  [[ -d $runtime ]] || { echo "check-library: loads: skipped, for lack of what scripts/setup.sh runtime-$target brings" && return 0; }
  if [[ $machine != "$(uname -m)" ]]; then
    type -P "qemu-$machine" >/dev/null || { echo "check-library: loads: skipped, for lack of qemu-$machine (qemu-user)" && return 0; }
    run=("qemu-$machine" -L "$runtime")
  fi
  if [[ $target == *-gnu ]]; then
    expected=$(sources_key "$(nvim_path 0.12)")
    said=$(VIMRUNTIME=$runtime/usr/share/nvim/runtime "${run[@]}" "$runtime/usr/bin/nvim" --clean -l lua/claude-ide/library/install.lua "$library" 2>&1) ||
      fail "the Neovim of $target cannot load it: $said"
    [[ ${said//[$'\r\n']/} == "sources $expected" ]] || fail "was compiled from other sources than these ($said, not $expected)"
    return
  fi
  local program
  program=$(mktemp)
  {
    printf '#include <%s.h>\n' dlfcn stdio stdlib
    dynamic_symbols | awk '$7 == "UND" && $8 ~ /^(lua|uv)/ { print "void " $8 "(void) { abort(); }" }'
    echo 'int main(int count, char **argv) {'
    echo '  void *library = dlopen(argv[1], RTLD_NOW);'
    echo '  return library && dlsym(library, "luaopen_claude_ide_native") ? 0 : (puts(dlerror()), 1);'
    echo '}'
  } | "$deps/zig/bin/python" -m ziglang cc -O1 -target "$machine-linux-musl" -dynamic -rdynamic -x c -o "$program" -
  said=$("${run[@]}" "$runtime/lib/ld-musl-$machine.so.1" "$program" "$library" 2>&1) || fail "does not load beside musl: $said"
  rm "$program"
}

# Every Neovim loads it, and it was compiled from these sources.
loads() {
  local version nvim said expected
  case $target in
    "" | "$(uname -m)-unknown-linux-gnu") ;;
    *-darwin) [[ $(uname -s) == Darwin && ${target%%-*} == "$(uname -m | sed s/arm64/aarch64/)" ]] || return 0 ;;
    *-linux-*) loads_elsewhere && return 0 ;;
    *) echo "check-library: loads: skipped, this machine has no Neovim for $target" && return 0 ;;
  esac
  for version in "${nvim_versions[@]}"; do
    nvim=$(nvim_path "$version")
    [[ -x $nvim ]] || fail "there is no Neovim $version to load it: scripts/setup.sh nvims"
    expected=$(sources_key "$nvim")
    said=$("$nvim" --clean -l lua/claude-ide/library/install.lua "$library" 2>&1) || fail "Neovim $version cannot load it: $said"
    [[ ${said//[$'\r\n']/} == "sources $expected" ]] || fail "was compiled from other sources than these ($said, not $expected)"
  done
}

((${#gates[@]})) || gates=(symbols glibc needed size stripped signature loads)
for gate in "${gates[@]}"; do
  "$gate"
done
