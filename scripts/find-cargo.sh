# Puts cargo on PATH if a plugin manager's environment lacks it, and sets RUSTUP_HOME if HOME differs from the one it
# was installed in. Sourced, in plain sh.

if ! command -v cargo >/dev/null 2>&1 && [ -x "${HOME:-}/.cargo/bin/cargo" ]; then
  PATH=$HOME/.cargo/bin:$PATH
fi
if cargo=$(command -v cargo) && [ -z "${RUSTUP_HOME:-}" ] && [ ! -d "${HOME:-}/.rustup/toolchains" ]; then
  beside=${cargo%/.cargo/bin/cargo}/.rustup
  if [ -d "$beside" ]; then
    export RUSTUP_HOME="$beside"
  fi
fi
