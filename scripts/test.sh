#!/usr/bin/env bash
# Runs the tests. Without --gate the first failing part ends the run.
#   test.sh                         all: Rust, three Neovims, the real CLI, a browser, language servers, other agents
#   test.sh --gate                  what `make test` runs: Rust, one Neovim, four scenarios with the real CLI
#   test.sh -k diff --nvim 0.11     arguments of pytest; runs the Python tests only
set -euo pipefail
source "$(dirname "$0")/env.sh"

library=build/claude_ide_native.so before=build/.new.before-tests
if [[ $* == --gate ]]; then
  [[ ! -f $library ]] || ln -f "$library" "$before"
  scripts/setup.sh venv nvim-0.11 cli & # downloads while cargo compiles
  setup=$!
  scripts/build.sh tests || { kill "$setup"; exit 1; }
  wait "$setup"
elif (($# == 0)); then
  scripts/setup.sh venv nvims cli agent node chromium
else
  scripts/setup.sh venv # tests/conftest.py sets up what the chosen tests need
fi

rust_tests() {
  cargo test --quiet --workspace --lib --bins --tests --all-features --locked
}

if (($# == 0)); then
  rust_tests
elif [[ $* == --gate ]]; then # beside those in Python, which wait half of their time
  log=$deps/rust-tests.log
  (rust_tests >"$log" 2>&1 && echo && cat "$log") &
  rust=$!
fi
which=(tests)
for argument in "$@"; do
  [[ -e ${argument%%::*} ]] && which=() # the caller names files
done
# Every worker imports all tests: 3 s once compiled, 13 s before.
export PYTHONPYCACHEPREFIX=$deps/pycache
unset PYTHONDONTWRITEBYTECODE
# Those of the gate wait twice as long as they compute (for a user's pace, for timers), so this many keep all cores busy. Of all tests, the
# CLIs, browsers and language servers compute themselves.
workers=$(($(getconf _NPROCESSORS_ONLN) * 3))
[[ $* == --gate ]] || workers=$(((workers + 1) / 2))
# Bash 3.2 takes an empty array for an unset variable.
pytest=("$python" -m pytest ${which[@]+"${which[@]}"} --rootdir tests --config-file tests/pytest.ini --numprocesses "$workers" --dist worksteal --durations 15 --durations-min 5 "$@")
# A user's Neovim may load what is in build/: the library of the tests is ten times as large, and slow.
put_back() {
  local nvim
  if [[ $before -ef $library ]]; then # it was that of the tests before
    rm -f "$before"
    return
  fi
  nvim=$(nvim_path 0.11)
  if [[ $("$nvim" --clean -l lua/claude-ide/library/install.lua "$before" 2>/dev/null) == "sources $(sources_key "$nvim")" ]]; then
    mv -f "$before" "$library"
  fi
  rm -f "$before"
}
[[ ${rust:-} ]] || exec "${pytest[@]}"
trap put_back EXIT
code=0
"${pytest[@]}" || code=$?
wait "$rust" || { cat "$log"; code=1; }
exit "$code"
