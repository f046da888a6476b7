#!/usr/bin/env bash
# Runs all tests; the first part that fails ends the run. Arguments go to pytest:  scripts/test.sh -k diff --nvim 0.11
# `--fast` alone is the inner loop: unit tests of Rust; one case of the first tests of each module that are not slow, on one Neovim.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh venv nvims cli agent node chromium

if (($# == 0)); then
  cargo test --quiet --workspace --all-features --locked
fi
which=(tests)
if [[ $* == --fast ]]; then
  cargo test --quiet --workspace --lib --all-features --locked
  which=(tests/nvim)
fi
for argument in "$@"; do
  [[ -e ${argument%%::*} ]] && which=() # the caller names files
done
# Every worker reads all tests: compiled once they take it 3 s, else 13.
export PYTHONPYCACHEPREFIX=$deps/pycache
unset PYTHONDONTWRITEBYTECODE
# Tests wait twice as long as they compute (for a person's pace, for timers): so many keep all cores busy.
workers=$(($(getconf _NPROCESSORS_ONLN) * 3))
exec "$python" -m pytest "${which[@]}" --rootdir tests --config-file tests/pytest.ini --numprocesses "$workers" --dist worksteal --durations 15 --durations-min 5 "$@"
