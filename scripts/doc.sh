#!/usr/bin/env bash
# Writes doc/claude-ide.txt anew from the annotations in the Lua sources. --check only says whether it is current.
set -euo pipefail
source "$(dirname "$0")/env.sh"
scripts/setup.sh doc_tools
