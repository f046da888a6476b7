#!/usr/bin/env bash
# Generates the help file and the types of the options. --check only reports whether they are current.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh nvim-0.11

exec "$(nvim_path 0.11)" -l scripts/doc.lua "$@"
