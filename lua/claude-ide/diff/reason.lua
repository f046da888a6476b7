-- Asks the user why an edit is rejected. Its source tells whoever proposed it.
local M = {}

---@param source claude-ide.decisions.Source
---@return string
local function question(source)
  local why = source.cannot_hear()
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
  vim.ui.input({ prompt = question(diff.source) }, function(text)
    if not text then
      return
    elseif diff.state ~= "pending" then
      -- It may have been answered in the CLI while the user wrote.
      require("claude-ide.ui.kept_words").give_back(text, "The diff is gone")
    else
      reject(text)
    end
  end)
end

return M
