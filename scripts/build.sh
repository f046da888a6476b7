#!/bin/sh
# Builds the native library and puts it in place by rename: a Neovim that has the old one loaded keeps it unharmed.
# Needs cargo alone; plugin managers run this as `make build`.
set -eu
cd "$(dirname "$0")/.."

. scripts/find-cargo.sh
if ! command -v cargo >/dev/null 2>&1; then
  echo "claude-ide.nvim: building needs Rust's cargo, which is not on PATH (see https://rustup.rs)." >&2
  exit 1
fi

case $(uname -s) in
  Darwin) library=libclaude_ide_native.dylib ;;
  *) library=libclaude_ide_native.so ;;
esac

cargo build --release --locked --package claude-ide-nvim
built=${CARGO_TARGET_DIR:-target}/release/$library

mkdir -p build
if ! cmp -s "$built" build/claude_ide_native.so; then
  fresh=$(mktemp build/.new.XXXXXX)
  trap 'rm -f "$fresh"' EXIT
  cp "$built" "$fresh"
  chmod 755 "$fresh"
  mv -f "$fresh" build/claude_ide_native.so
fi
