#!/usr/bin/env bash
# Runs the tests. Without --gate the first failing part ends the run.
#   test.sh                         all: Rust, three Neovims, the real CLI, a browser, language servers, other agents
#   test.sh --gate                  what `make test` runs: Rust, one Neovim, four scenarios with the real CLI
#   test.sh -k diff --nvim 0.11     arguments of pytest; runs the Python tests only
set -euo pipefail
source "$(dirname "$0")/env.sh"

if [[ $* == --gate ]]; then
  scripts/setup.sh venv nvim-0.11 cli & # downloads while cargo compiles
  setup=$!
  scripts/build.sh tests || { kill "$setup"; exit 1; }
  wait "$setup"
else
  scripts/setup.sh venv nvims cli agent node chromium
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
# Tests wait twice as long as they compute (for a user's pace, for timers), so this many keep all cores busy.
workers=$(($(getconf _NPROCESSORS_ONLN) * 3))
pytest=("$python" -m pytest "${which[@]}" --rootdir tests --config-file tests/pytest.ini --numprocesses "$workers" --dist worksteal --durations 15 --durations-min 5 "$@")
[[ ${rust:-} ]] || exec "${pytest[@]}"
code=0
"${pytest[@]}" || code=$?
wait "$rust" || { cat "$log"; code=1; }
exit "$code"
