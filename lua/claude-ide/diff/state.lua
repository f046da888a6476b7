-- Edits as a kind of decision: what is special to them. Who waits for whom is the queue's (`claude-ide.decisions`).
local M = {}

local KIND = "edit"

---@class claude-ide.Diff: claude-ide.Decision
---@field state "pending"|claude-ide.diff.Outcome
---@field path string absolute; the file that is written when the diff is accepted
---@field old_path string absolute; the file that the proposal began as, most often the same
---@field tab_name string what its source calls it; need not be unique
---@field proposed string the exact bytes that were proposed
---@field base? integer buffer whose text it is for, whatever is on the disk; its source changes that text
---@field on_top? boolean its file has changed while it waited, and it was put into that
---@field layout? claude-ide.diffview.LayoutName other than the next one
---@field place? claude-ide.diffview.PlaceName other than that of the options

---@class claude-ide.diff.Edit
---@field path string
---@field old_path? string default: the path
---@field tab_name? string default: the path
---@field contents string
---@field base? integer
---@field layout? claude-ide.diffview.LayoutName
---@field place? claude-ide.diffview.PlaceName

---How a diff ends.
---@alias claude-ide.diff.Outcome "accepted"|"rejected"|"closed"

---@param presenter claude-ide.decisions.Presenter
function M.register(presenter)
  require("claude-ide.decisions").register(KIND, presenter)
end

---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param edit claude-ide.diff.Edit
---@return claude-ide.Diff
function M.propose(source, request, edit)
  local paths = require("claude-ide.path")
  local path = paths.normalize(edit.path)
  local diff = require("claude-ide.decisions").ask(KIND, source, request, {
    path = path,
    old_path = paths.normalize(edit.old_path or path),
    tab_name = edit.tab_name or path,
    proposed = edit.contents,
    base = edit.base,
    layout = edit.layout,
    place = edit.place,
  })
  return diff --[[@as claude-ide.Diff]]
end

---The diffs that wait for a decision, the longest waiting first.
---@param matches? fun(diff: claude-ide.Diff): boolean
---@return claude-ide.Diff[]
function M.pending(matches)
  local diffs = require("claude-ide.decisions").pending(function(decision)
    ---@cast decision claude-ide.Diff
    return decision.kind == KIND and (not matches or matches(decision))
  end)
  return diffs --[[@as claude-ide.Diff[] ]]
end

---@param id integer
---@return claude-ide.Diff?
function M.get(id)
  return M.pending(function(diff)
    return diff.id == id
  end)[1]
end

---@return integer
function M.count()
  return require("claude-ide.decisions").count(KIND)
end

return M
