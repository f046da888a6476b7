-- The least that the plugin needs: this repository on the runtime path. For the tests, and to reproduce a bug with nothing
-- else in play:  nvim --clean -u tests/minimal_init.lua
local here = debug.getinfo(1, "S").source:sub(2)
local root = vim.fn.fnamemodify(here, ":p:h:h")

vim.opt.runtimepath:prepend(root)
vim.opt.shortmess:append("I")
