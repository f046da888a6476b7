-- Where there is room for one diff only, the others wait behind it and come forward one after the other.
local M = {}

---The one to be shown next.
---@return claude-ide.diff.Entry?
function M.next()
  local stage = require("claude-ide.diff.on_screen")
  for _, diff in ipairs(require("claude-ide.diff.state").pending()) do
    local entry = stage.get(diff.id)
    if entry and entry.behind then
      return entry
    end
  end
end

---@param entry claude-ide.diff.Entry
---@return string name of its file
local function name_of(entry)
  return vim.fs.basename(entry.diff.path)
end

---Shows the one whose turn has come, as soon as that is in nobody's way.
---@param entry claude-ide.diff.Entry
---@param instead_of? claude-ide.diff.View the person was in it, and it is gone
function M.come_forward(entry, instead_of)
  local function show()
    if entry.behind then
      entry.behind.show({ instead_of = instead_of })
    end
  end
  if instead_of then
    return show()
  end
  require("claude-ide.ui.attention").when_free(entry.diff.id, name_of(entry), show)
end

---Whether a diff would cover what the person looks at, who has not asked for it. Tells them once that it waits.
---@param entry claude-ide.diff.Entry
---@param how claude-ide.diff.ShowOpts
---@return boolean
function M.is_unwanted(entry, how)
  local wanted = how.asked or how.instead_of or require("claude-ide.config").get().diff.focus
  if not wanted and not entry.behind then
    require("claude-ide.ui.notice").info(
      ("Claude proposes a change to %s. `:Claude diffs` shows it."):format(name_of(entry))
    )
  end
  return not wanted
end

return M
