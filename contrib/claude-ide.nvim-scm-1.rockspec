-- Not at the root of the repository: lazy.nvim would find it there and install by luarocks. It builds the library with cargo.
--   luarocks --lua-version 5.1 --tree ~/.rocks make contrib/claude-ide.nvim-scm-1.rockspec
-- The plugin's files have to lie together, so the rock holds them as a package of Neovim:
--   vim.opt.packpath:append(vim.fn.expand("~/.rocks/lib/luarocks/rocks-5.1/claude-ide.nvim/scm-1"))
rockspec_format = "3.0"
package = "claude-ide.nvim"
version = "scm-1"
source = { url = "git+https://github.com/claude-ide/claude-ide.nvim.git" }
description = {
  summary = "Claude Code inside Neovim",
  homepage = "https://github.com/claude-ide/claude-ide.nvim",
  license = "MIT OR Apache-2.0",
  labels = { "neovim" },
}
dependencies = { "lua == 5.1" }
build = {
  type = "command",
  build_command = "scripts/build.sh",
  install_command = "mkdir -p $(PREFIX)/pack/claude/start/claude-ide.nvim"
    .. " && cp -R Cargo.toml Cargo.lock build build.lua crates doc kernel lua mod plugin scripts web"
    .. " $(PREFIX)/pack/claude/start/claude-ide.nvim",
}
