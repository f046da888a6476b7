// How Neovim is reached: {url, token, asks}. lua/claude-ide/terminal/mod.lua puts it in place of this file for each CLI.
export const neovim = null
