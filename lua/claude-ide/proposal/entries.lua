-- The diffs that are on the screen or on their way to it, by the number of their request.
local M = {}

---The texts of one file.
---@class claude-ide.proposal.Item.Shown
---@field diff claude-ide.Diff
---@field text? claude-ide.proposal.Prepared from when both sides are ready
---@field tick? integer changedtick of the untouched proposal
---@field hunks? claude-ide.diffview.Hunks from when it is on the screen
---@field typed? claude-ide.proposal.Text what the user typed into a proposal whose buffer is gone
---@field path? string other than the diff's

---What is known of a diff beside its state. Of several files its texts are those of the one that is shown.
---@class claude-ide.proposal.Entry: claude-ide.proposal.Item.Shown
---@field view? claude-ide.diffview.View
---@field list? integer buffer, where it is of several files
---@field shown integer index of the file that is shown
---@field group? integer augroup
---@field verbs? claude-ide.proposal.Verbs from when it has been on the screen
---@field overwrites? boolean the user knows that there is a file by now which it is to make
---@field outdated? boolean another one takes its place: it comes on the screen no more
---@field behind? claude-ide.proposal.Verbs it is ready, and another one is where it would be

---What the user's doings mean.
---@class claude-ide.proposal.Verbs
---@field accept fun()
---@field reject fun()
---@field reject_with_reason fun()
---@field write fun() the proposal was written by the user
---@field gone fun() a window or a buffer of the diff was closed
---@field show fun(how: claude-ide.proposal.ShowOpts) its turn has come

---@type table<integer, claude-ide.proposal.Entry>
local entries = {}

---The buffer whose being drawn tells that the user sees it.
---@param entry claude-ide.proposal.Entry with its text
---@return integer buf
function M.sight(entry)
  return entry.list or entry.text.bufs.proposal
end

---The buffers that it has by now.
---@param entry claude-ide.proposal.Entry
---@return integer[]
function M.bufs(entry)
  local bufs = { entry.list } --[[@as integer[] ]]
  for _, one in ipairs(entry.diff.files or { entry }) do
    vim.list_extend(bufs, vim.tbl_values(one.text and one.text.bufs or {}))
  end
  return bufs
end

---@param id integer
---@return claude-ide.proposal.Entry?
function M.get(id)
  return entries[id]
end

---@return table<integer, claude-ide.proposal.Entry> not a copy
function M.all()
  return entries
end

return M
