#!/usr/bin/env bash
# Formats all sources in place.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh lint

cargo fmt --all
stylua build.lua lua plugin tests demo scripts
ruff format --quiet tests demo kernel scripts
ruff check --quiet --fix tests demo kernel scripts
