-- Completion of what a prompt on the command line may name: `#…`.
local M = {}

---@param word string
---@param more? string[] other words that may stand there
---@return string[]
function M.complete(word, more)
  local cwd = require("claude-ide.chat.program").folder()
  local items, from = require("claude-ide.context").complete(word, cwd)
  local lead = from and word:sub(1, from - 1) or ""
  local words = vim.tbl_map(function(item)
    return lead .. item.word
  end, items or {})
  return vim.list_extend(words, more or {})
end

return M
