#!/usr/bin/env bash
# Takes the README's pictures: real screens of Neovim and the real CLI, with a scripted model. Arguments select
# pictures.
set -euo pipefail
source "$(dirname "$0")/env.sh"

scripts/setup.sh cli venv nvim-0.12 chromium
PYTHONPATH=tests exec "$python" demo/pictures.py --nvim "$(nvim_path 0.12)" --claude "$deps/node/node_modules/.bin/claude" "$@"
