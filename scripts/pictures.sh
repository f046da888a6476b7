#!/usr/bin/env bash
# Takes the pictures of the README anew: real screens of Neovim and the real CLI, with a scripted model. Names choose some.
set -euo pipefail
source "$(dirname "$0")/env.sh"

scripts/setup.sh cli venv nvim-0.12 chromium
PYTHONPATH=tests exec "$python" demo/pictures.py --nvim "$(nvim_path 0.12)" --claude "$deps/node/node_modules/.bin/claude" "$@"
