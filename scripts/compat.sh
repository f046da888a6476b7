#!/usr/bin/env bash
# Runs the scenarios with the real CLI in tests/e2e on each Neovim, with several versions of the CLI.
#   compat.sh [VERSION...]    default: the oldest supported one, the pinned one, and the newest of the npm registry
# All are run, also after a failure; the last lines say which failed.
set -euo pipefail
source "$(dirname "$0")/env.sh"
die() { echo "compat: $*" >&2; exit 1; }

oldest=$(sed -n 's/^local OLDEST_CLI = "\(.*\)"$/\1/p' lua/claude-ide/health/init.lua)
pinned=$(sed -n 's/^claude_code=//p' scripts/setup.sh)
clis=("$@")
if (($# == 0)); then
  type -P npm >/dev/null || die "npm is needed, and comes with Node.js"
  newest=$(npm view @anthropic-ai/claude-code version --no-update-notifier 2>/dev/null) && [[ $newest ]] ||
    die "the npm registry does not answer, so the newest CLI is not known: name versions (make compat CLI=\"$oldest $pinned\")"
  clis=("$oldest" "$pinned")
  [[ $newest == "$pinned" ]] || clis+=("$newest")
fi

results=()
failed=0
for cli in "${clis[@]}"; do
  scripts/setup.sh "cli-$cli"
  for nvim in "${nvim_versions[@]}"; do
    echo "compat: CLI $cli, Neovim $nvim"
    # A CLI below 2.1 writes no record of its session, and asks for nothing but diffs: what the first scenarios show is all of it.
    scenarios=(tests/e2e --ignore tests/e2e/test_pictures.py -m "cli and not slow")
    [[ $cli != 2.0.* ]] || scenarios=(tests/e2e/test_real_cli.py)
    if CLAUDE_IDE_CLI=$deps/cli-$cli/node_modules/.bin/claude scripts/test.sh "${scenarios[@]}" --nvim "$nvim"; then
      results+=("CLI $cli, Neovim $nvim: works")
    else
      results+=("CLI $cli, Neovim $nvim: FAILED")
      failed=1
    fi
  done
done
printf 'compat: %s\n' "${results[@]}"
exit "$failed"
