#!/usr/bin/env bash
# Opens Neovim in a sample project with the real CLI beside it and a proposed change. LIVE=1 uses the user's own claude
# and login; else a scripted model answers. Without a terminal the demo drives itself.
set -euo pipefail
source "$(dirname "$0")/env.sh"

options=()
if [[ ${LIVE:-} ]]; then
  on_path claude >/dev/null || { echo "demo: LIVE=1 needs your own claude on PATH" >&2; exit 1; }
  options+=(--live)
fi
scripts/setup.sh demo

nvim=$(on_path nvim) && recent_nvim_on_path || nvim=$(nvim_path 0.11)
claude=$(on_path claude) || claude=$deps/node/node_modules/.bin/claude
PYTHONPATH=tests exec "$python" demo/run.py --nvim "$nvim" --claude "$claude" ${options[@]+"${options[@]}"} "$@"
