-- Asks the user why an edit is rejected. Its source tells whoever proposed it.
local M = {}

---@param diff claude-ide.Diff
---@return string
local function question(diff)
  local why = not diff.files and diff.source.cannot_hear() -- of several files the words are a part of the answer
  if not why then
    return "Why not? "
  end
  local place = require("claude-ide.ui.kept_words").place()
  return require("claude-ide.ui.one_line").fitting({
    ("Why not? (%s: your words will be in %s) "):format(why, place),
    ("Why not? (goes to %s) "):format(place),
  })
end

---@param diff claude-ide.Diff
---@param reject fun(reason: string) not called if they think better of it
function M.ask(diff, reject)
  vim.ui.input({ prompt = question(diff) }, function(text)
    if not text then
      return
    elseif diff.state ~= "pending" or diff.applying then
      -- It may have been answered in the CLI while the user wrote.
      local why = diff.applying and "The changes are being written" or "The diff is gone"
      require("claude-ide.ui.kept_words").give_back(text, why)
    else
      reject(text)
    end
  end)
end

return M
