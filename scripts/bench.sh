#!/usr/bin/env bash
# Measures speed, beside a bare TCP loopback in the same run. Not part of the tests: numbers depend on the machine.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh venv nvims cli node

exec "$python" tests/bench/run.py "$@"
