#!/usr/bin/env bash
# Makes the file of a release for one target, checks it, and lists it in dist/SHA256SUMS. The same sources give the same
# bytes in any folder.
#   dist.sh [TARGET]    default: this machine's, on Linux with glibc
# On Linux: {x86_64,aarch64}-unknown-linux-{gnu,musl}, linked by zig, which has every C library. On macOS: {x86_64,aarch64}-apple-darwin.
set -euo pipefail
source "$(dirname "$0")/env.sh"
die() { echo "dist: $*" >&2; exit 1; }

rust=1.95.0 # another compiler makes other bytes
glibc=2.17
macos=13.0

case $(uname -s) in
  Linux) target=${1:-$(uname -m)-unknown-linux-gnu} ;;
  Darwin) target=${1:-$(uname -m | sed s/arm64/aarch64/)-apple-darwin} ;;
esac
case $(uname -s):$target in
  Linux:*-linux-gnu | Linux:*-linux-musl | Darwin:*-apple-darwin) ;;
  *) die "$target cannot be made on $(uname -s)" ;;
esac

type -P rustup >/dev/null && export RUSTUP_TOOLCHAIN=$rust RUSTUP_AUTO_INSTALL=0
found=$(rustc --version 2>/dev/null | cut -d ' ' -f 2) || true
[[ $found == "$rust" ]] || die "a release is compiled by Rust $rust, here is ${found:-none}: rustup toolchain install $rust"
sysroot=$(rustc --print sysroot)
[[ -d $sysroot/lib/rustlib/$target/lib ]] ||
  die "Rust's standard library for $target is not here: rustup target add --toolchain $rust $target"
scripts/setup.sh nvims
[[ $target == *-linux-* ]] && scripts/setup.sh zig
case $target in
  "$(uname -m)-unknown-linux-gnu" | *-darwin) ;;
  *) type -P apt-get >/dev/null && scripts/setup.sh "runtime-$target" ;;
esac

cargo_home=${CARGO_HOME:-$HOME/.cargo}
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
flags=("--remap-path-prefix=$cargo_home=/cargo" "--remap-path-prefix=$sysroot=/rust"
  "--remap-path-prefix=$root=/claude-ide" "--remap-path-prefix=$CARGO_TARGET_DIR=/target")
[[ $target != *-musl ]] || flags+=(-C target-feature=-crt-static) # Neovim brings its C library along
CARGO_ENCODED_RUSTFLAGS=$(IFS=$'\x1f' && echo "${flags[*]}")
export CARGO_ENCODED_RUSTFLAGS CLAUDE_IDE_RELEASE=1 SOURCE_DATE_EPOCH=0 MACOSX_DEPLOYMENT_TARGET=$macos

build=(--release --locked --package claude-ide-nvim)
folder=$CARGO_TARGET_DIR/$target/release
case $target in
  *-darwin)
    cargo build "${build[@]}" --target "$target"
    made=$folder/libclaude_ide_native.dylib
    codesign --force --sign - "$made"
    ;;
  *)
    suffix=
    [[ $target != *-gnu ]] || suffix=.$glibc
    PATH=$deps/zig/bin:$PATH cargo zigbuild "${build[@]}" --target "$target$suffix"
    made=$folder/libclaude_ide_native.so
    ;;
esac

scripts/check-library.sh "$made" "$target"

key=$(sources_key "$(nvim_path 0.12)")
mkdir -p dist
asset=claude_ide_native-$key-$target.so
cp "$made" "dist/$asset"
sha256=(sha256sum)
[[ $(uname -s) == Linux ]] || sha256=(shasum --algorithm 256)
(cd dist && "${sha256[@]}" -- "claude_ide_native-$key-"*.so >SHA256SUMS)
echo "dist/$asset"
