// The folder in which Neovim is asked. lua/claude-ide/terminal/mod.lua puts it in place of this file for each CLI.
export const folder = null
