#!/bin/sh
# Builds the native library and installs it by rename, which does not disturb a Neovim that has the old one loaded.
# Needs only cargo; plugin managers run this as `make build`, or through build.lua. For them only the library is left:
# cargo's cache, a hundred times as large, stays only in a development checkout (`make setup`). `build.sh dev` builds
# the library that tests load: in seconds after a change, but slower to run. `build.sh tests` builds the Rust tests with it: in one
# build, both use the same dependencies.
set -eu
cd "$(dirname "$0")/.."

. scripts/find-cargo.sh
if ! command -v cargo >/dev/null 2>&1; then
  echo "claude-ide.nvim: building needs Rust's cargo, which is not on PATH (see https://rustup.rs)." >&2
  exit 127 # lua/claude-ide/library/install.lua knows it
fi

# An older cargo fails on the manifest with an unrelated message.
needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
found=$(cargo --version | sed -n 's/^cargo \([0-9][0-9.]*\).*/\1/p')
newest=$(printf '%s\n%s\n' "$needed" "$found" | sort -t . -k 1,1n -k 2,2n | tail -n 1)
if [ "${found#"$needed"}" = "$found" ] && [ "$newest" != "$found" ]; then
  echo "claude-ide.nvim: building needs Rust $needed or newer, this is $found. \`rustup update\` brings the newest (https://rustup.rs)." >&2
  exit 1
fi

target=${CARGO_TARGET_DIR:-target}
made=$target/.made-for-the-library
if [ ! -e "$target" ]; then
  mkdir -p "$target"
  : >"$made"
fi

case $(uname -s) in
  Darwin) library=libclaude_ide_native.dylib ;;
  *) library=libclaude_ide_native.so ;;
esac

case ${1:-release} in
  dev) folder=debug profile=dev what='--package claude-ide-nvim' ;;
  tests) folder=debug profile=dev what='--workspace --lib --bins --tests --all-features' ;;
  *) folder=release profile=release what='--package claude-ide-nvim' ;;
esac
# shellcheck disable=SC2086 # several words
cargo build --profile "$profile" --locked $what
built=$target/$folder/$library

mkdir -p build
if ! cmp -s "$built" build/claude_ide_native.so; then
  fresh=$(mktemp build/.new.XXXXXX)
  trap 'rm -f "$fresh"' EXIT
  cp "$built" "$fresh"
  chmod 755 "$fresh"
  mv -f "$fresh" build/claude_ide_native.so
fi

if [ -e "$made" ] && [ ! -e .deps ] && [ ! -e "$target/debug" ]; then
  rm -rf "$target"
fi
