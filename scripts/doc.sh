#!/usr/bin/env bash
# Writes the help file and the types of the options anew. --check only says whether they are current.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh nvim-0.11

exec "$(nvim_path 0.11)" -l scripts/doc.lua "$@"
