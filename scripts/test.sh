#!/usr/bin/env bash
# Runs all tests; the first part that fails ends the run. Arguments go to pytest:  scripts/test.sh -k diff --nvim 0.11
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh venv nvims cli node

if (($# == 0)); then
  cargo test --quiet --workspace --all-features --locked
fi
# Tests wait more than they compute: three of them keep two cores busy.
workers=$(($(getconf _NPROCESSORS_ONLN) * 3 / 2))
exec "$python" -m pytest tests --numprocesses "$workers" --durations 15 --durations-min 5 "$@"
