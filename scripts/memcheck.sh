#!/usr/bin/env bash
# Runs tests on a Neovim under valgrind and reports wrong uses of memory with the library on the stack: reads and writes outside of what is
# allocated, after it was freed, or of what was never written. All unsafe code is at the boundary with Lua, which no test without a Neovim
# reaches. Needs valgrind, and a Neovim that uses this system's C library (0.11 does).
#   memcheck.sh [PYTEST-ARGUMENT...]    default: the tests of the boundary, the server, the journal and chats
set -euo pipefail
source "$(dirname "$0")/env.sh"
die() { echo "memcheck: $*" >&2; exit 1; }

type -P valgrind >/dev/null || die "valgrind is needed, a package of every Linux distribution"
scripts/setup.sh venv nvim-0.11
logs=$(mktemp --directory)
trap 'rm -rf "$logs"' EXIT
# LuaJIT writes code while it runs.
cat >"$logs/nvim" <<END
#!/bin/sh
[ "\$1" = --version ] && exec "$(nvim_path 0.11)" "\$@"
exec valgrind --quiet --smc-check=all-non-file --error-limit=no --num-callers=40 --log-file="$logs/%p.log" "$(nvim_path 0.11)" "\$@"
END
chmod +x "$logs/nvim"

(($#)) || set -- tests/nvim/test_boundary.py tests/nvim/test_server.py tests/nvim/test_journal.py tests/nvim/test_chat_stream.py
status=0
CLAUDE_IDE_NVIM_011=$logs/nvim CLAUDE_IDE_PATIENCE=200 \
  "$python" -m pytest --rootdir tests --config-file tests/pytest.ini --nvim 0.11 --quiet -o timeout=0 "$@" || status=$?

processes=$(find "$logs" -name '*.log' | wc -l)
((processes)) || die "no Neovim ran under valgrind"
# An error is a paragraph. LuaJIT's own, which compares strings word by word, have no frame of the library.
found=$(cat "$logs"/*.log | sed 's/^==[0-9]*== \{0,1\}//' | awk 'BEGIN { RS = ""; ORS = "\n\n" } /claude_ide_native/')
if [[ $found ]]; then
  echo "$found" >&2
  die "errors with the library on the stack, in $processes Neovims: see above"
fi
echo "memcheck: $processes Neovims, nothing found"
exit "$status"
