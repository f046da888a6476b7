# Paths of the tools. Sourced by the other scripts, from the top of the repository.

cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
root=$PWD
deps=$root/.deps
[[ -L $deps ]] && deps=$(readlink -f "$deps") # a second work tree may share the tools of the first
python=$deps/venv/bin/python
. scripts/find-cargo.sh
# For the scripts called by this one: their PATH begins with .deps/, unlike the user's.
export CLAUDE_IDE_USER_PATH=${CLAUDE_IDE_USER_PATH:-$PATH}
unset VIMRUNTIME NVIM # set in a Neovim's terminal
export NVIM_LOG_FILE=/dev/null # else every Neovim writes one in the home
export PATH="$deps/venv/bin:$deps/cargo/bin:$deps/node/node_modules/.bin:$PATH"

# The versions of Neovim that the tests run on, and where `setup.sh` puts them.
nvim_versions=(0.10 0.11 0.12)
nvim_path() { # VERSION
  local chosen=CLAUDE_IDE_NVIM_${1/./}
  echo "${!chosen:-$deps/nvim-$1/bin/nvim}"
}

sources_key() { # NVIM   of the library's sources, which its file is named after
  "$1" --clean -l - <<<'io.write(dofile("lua/claude-ide/library/install.lua").key("."))' 2>&1
}

on_path() { # PROGRAM   on the user's PATH, without .deps/
  PATH=$CLAUDE_IDE_USER_PATH type -P "$1"
}

recent_nvim_on_path() { # whether the user's Neovim is recent enough for the plugin
  local nvim number
  nvim=$(on_path nvim) || return 1
  number=$("$nvim" --version 2>/dev/null | sed -n '1s/^NVIM v\([0-9]*\)\.\([0-9]*\).*/\1 \2/p') || return 1
  set -- $number
  [[ $# == 2 ]] && (($1 > 0 || $2 >= 10))
}
