#!/usr/bin/env bash
# Runs all static checks. Continues after a failure and lists all that failed.
set -uo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh lint || exit 1

failed=()
check() { # NAME COMMAND...
  local began=$SECONDS
  if "${@:2}"; then
    echo "lint: $1: ok ($((SECONDS - began)) s)"
  else
    echo "lint: $1: FAILED" >&2
    failed+=("$1")
  fi
}

# nvim_oxi::api has structs whose layout depends on Neovim's version, so one library for three versions must not use it.
no_oxi_api() { ! grep -rnE --include='*.rs' '^[^/]*(nvim_oxi|oxi)::api|^[^/]*use nvim_oxi::\{[^}]*\bapi\b' crates; }

# The layers of ARCHITECTURE.md, as far as grep can check them.
only_native_loads_the_library() { # library/install.lua loads a download for a check, in a separate Neovim
  ! grep -rnE --include='*.lua' 'package\.loadlib|claude_ide_native' lua plugin | grep -vE '^lua/claude-ide/library/(native|install)\.lua:'
}
# A direct call crashes Neovim 0.10 and 0.11, or takes Visual mode along.
one_module_enters_and_closes_windows() {
  ! grep -rnE --include='*.lua' 'nvim_win_(close|hide)|nvim_set_current_win' lua plugin | grep -v '^lua/claude-ide/base/window\.lua:'
}
# Elsewhere a size would be taken for the user's wish, or be that of the command line.
one_module_sizes_splits() {
  ! grep -rnE --include='*.lua' 'nvim_win_set_(height|width)|win_move_|cmd.*\bresize\b|cmdheight = ' lua plugin |
    grep -v '^lua/claude-ide/ui/split\.lua:'
}
# Elsewhere an error in a redraw, and `<C-c>` is one, would show a stack trace.
one_module_draws() {
  ! grep -rn --include='*.lua' 'nvim_set_decoration_provider' lua plugin | grep -v '^lua/claude-ide/base/redraw\.lua:'
}
# Neovim's tests itself at the first call, for 7 ms.
no_digest_of_neovim() { ! grep -rn --include='*.lua' 'sha256(' lua plugin; }
# The dependencies between Lua modules: no cycles, no upward edges (scripts/rooms.lua).
require_graph() { "$(nvim_path 0.12)" -l scripts/require-graph.lua; }
# The same of the modules of each crate, without layers.
rust_cycles() { "$python" scripts/rust-cycles.py; }
# Tests name modules by a table.
module_names() { "$python" scripts/module-names.py; }
startup_requires_nothing() { ! grep -nE '^[^ -].*\brequire\b' plugin/*.lua; }

types() { # LuaCATS, with Neovim's runtime for the types of its API; hints are shown only beside a warning
  local said
  VIMRUNTIME=$("$(nvim_path 0.12)" --clean --headless --cmd 'lua io.stdout:write(vim.env.VIMRUNTIME)' --cmd qall)
  export VIMRUNTIME
  said=$(emmylua_check --warnings-as-errors . 2>&1) || { echo "$said"; return 1; }
}

page_types() { # JavaScript with types in comments
  "$deps/node/node_modules/.bin/tsc" --noEmit --allowJs --checkJs --strict --target es2023 --lib es2023,dom,dom.iterable \
    --module esnext --moduleResolution bundler web/*.js
}

# What rustc strips does not load on macOS 27, see Cargo.toml. Cargo tells its plan to a nightly, or where it is told to act as one.
rustc_strips_nothing() {
  RUSTC_BOOTSTRAP=1 cargo build --release --locked --package claude-ide-nvim --unit-graph -Z unstable-options | "$python" -c '
import json, sys
units = json.load(sys.stdin)["units"]
linked = [unit for unit in units if {"proc-macro", "cdylib"} & set(unit["target"]["kind"])]
stripped = sorted(unit["pkg_id"] for unit in linked if unit["profile"]["strip"]["resolved"] != "None")
assert linked, "no unit that is linked?"
sys.exit(f"rustc strips {stripped}" if stripped else 0)
'
}

# Each unsafe block says why it is sound (clippy), and one more is seen here: by file, how many there are.
unsafe_is_counted() {
  diff <(grep -rcE 'unsafe (\{|impl|extern|fn)' crates/*/src --include='*.rs' | grep -v ':0$' | sort) - <<'END'
crates/nvim/src/boundary.rs:11
crates/nvim/src/lua.rs:25
crates/system/src/memory.rs:1
crates/system/src/signal.rs:1
crates/system/src/testing.rs:1
END
}

check rustfmt cargo fmt --all --check
check clippy cargo clippy --quiet --workspace --all-targets --all-features --locked -- --deny warnings
check rustdoc env RUSTDOCFLAGS="--deny warnings" cargo doc --quiet --workspace --no-deps --locked --document-private-items
check cargo-deny cargo-deny --log-level error check bans licenses sources
check stylua stylua --check build.lua lua plugin tests demo scripts
check selene selene --quiet build.lua lua plugin demo scripts tests/minimal_init.lua
check luacats types
check page-types page_types
check ruff-format ruff format --quiet --check --diff tests demo kernel scripts
check ruff ruff check --quiet tests demo kernel scripts
check typos typos
check workflows zizmor --offline --quiet .github
check docs scripts/doc.sh --check
check prose "$python" scripts/prose.py
check library scripts/check-library.sh build/claude_ide_native.so "" symbols needed size stripped
check strip rustc_strips_nothing
check no-oxi-api no_oxi_api
check unsafe unsafe_is_counted
check one-door-to-the-library only_native_loads_the_library
check one-module-enters-and-closes-windows one_module_enters_and_closes_windows
check one-module-sizes-splits one_module_sizes_splits
check one-module-draws one_module_draws
check no-digest-of-neovim no_digest_of_neovim
check require-graph require_graph
check rust-cycles rust_cycles
check module-names module_names
check lazy-plugin-files startup_requires_nothing

if ((${#failed[@]})); then
  echo "lint: ${#failed[@]} failed: ${failed[*]}" >&2
  exit 1
fi
