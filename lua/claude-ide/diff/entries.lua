-- The diffs that are on the screen or on their way to it, by the number of their request.
local M = {}

---What is known of a diff beside its state.
---@class claude-ide.diff.Entry
---@field diff claude-ide.Diff
---@field text? claude-ide.diff.Prepared from when both sides are ready
---@field tick? integer changedtick of the untouched proposal
---@field view? claude-ide.diff.View
---@field hunks? claude-ide.diffview.Hunks from when it is on the screen
---@field group? integer augroup
---@field verbs? claude-ide.diff.Verbs from when it has been on the screen
---@field overwrites? boolean the user knows that there is a file by now which it is to make
---@field outdated? boolean another one takes its place: it comes on the screen no more
---@field behind? claude-ide.diff.Verbs it is ready, and another one is where it would be

---What the user's doings mean.
---@class claude-ide.diff.Verbs
---@field accept fun()
---@field reject fun()
---@field reject_with_reason fun()
---@field write fun() the proposal was written by the user
---@field gone fun() a window or a buffer of the diff was closed
---@field show fun(how: claude-ide.diff.ShowOpts) its turn has come

---@type table<integer, claude-ide.diff.Entry>
local entries = {}

---@param id integer
---@return claude-ide.diff.Entry?
function M.get(id)
  return entries[id]
end

---@return table<integer, claude-ide.diff.Entry> not a copy
function M.all()
  return entries
end

return M
