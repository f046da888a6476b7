-- Edits as a kind of decision, of one file or of several: what is special to them, and which of them are on the screen or on their way to it. The
-- queue is `claude-ide.decisions`.
local M = {}

local KIND = "edit"

---@class claude-ide.Diff: claude-ide.Decision
---@field state "pending"|claude-ide.proposal.Outcome
---@field path string absolute; the file that is written when the diff is accepted
---@field old_path string absolute; the file that the proposal began as, most often the same
---@field tab_name string what its source calls it; need not be unique
---@field proposed string the exact bytes that were proposed; "" where it is of several files
---@field base? integer buffer whose text it is for, whatever is on the disk; its source changes that text
---@field on_top? boolean its file has changed while it waited, and it was put into that
---@field layout? claude-ide.diffview.LayoutName other than the next one
---@field place? claude-ide.diffview.PlaceName other than that of the options
---@field files? claude-ide.proposal.File[] of several: `path` is the first one's, `tab_name` what it is about
---@field notes? string[] for the report
---@field unasked? boolean it is applied without asking
---@field applying? boolean it is being written

---An answer to an edit of several files that is accepted.
---@class claude-ide.proposal.FilesAnswer : claude-ide.decisions.Answer
---@field report claude-ide.changeset.Report
---@field jobs claude-ide.changeset.Job[] of the files that are not dropped
---@field written boolean by the editor; else it is left to its source, which writes

---@class claude-ide.proposal.FilesEdit
---@field title string "Rename add to plus"
---@field files claude-ide.changeset.File[]
---@field notes string[]
---@field unasked? boolean the session's mode accepts edits

---@class claude-ide.proposal.Edit
---@field path string
---@field old_path? string default: the path
---@field tab_name? string default: the path
---@field contents string
---@field base? integer
---@field layout? claude-ide.diffview.LayoutName
---@field place? claude-ide.diffview.PlaceName

---How a diff ends.
---@alias claude-ide.proposal.Outcome "accepted"|"rejected"|"closed"

---@param presenter claude-ide.decisions.Presenter
function M.register(presenter)
  require("claude-ide.decisions").register(KIND, presenter)
end

---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param edit claude-ide.proposal.Edit
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

---@param source claude-ide.decisions.Source
---@param request any what the source knows it by
---@param edit claude-ide.proposal.FilesEdit with files
---@return claude-ide.Diff
function M.propose_files(source, request, edit)
  local files = vim.tbl_map(require("claude-ide.proposal.files").of, edit.files)
  local diff = require("claude-ide.decisions").ask(KIND, source, request, {
    path = files[1].path,
    old_path = files[1].old_path,
    tab_name = edit.title,
    proposed = "",
    files = files,
    notes = edit.notes,
    unasked = edit.unasked == true,
  })
  return diff --[[@as claude-ide.Diff]]
end

---What notices call it.
---@param diff claude-ide.Diff
---@return string
function M.name_of(diff)
  local count = diff.files and #diff.files or 1
  return count == 1 and vim.fs.basename(diff.path) or ("%d files"):format(count)
end

---The diffs that wait for a decision, the longest waiting first.
---@param matches? fun(diff: claude-ide.Diff): boolean
---@return claude-ide.Diff[]
function M.pending(matches)
  local diffs = require("claude-ide.decisions").pending(function(decision)
    ---@cast decision claude-ide.Diff
    return decision.kind == KIND and not decision.unasked and (not matches or matches(decision))
  end)
  return diffs --[[@as claude-ide.Diff[] ]]
end

---@return integer
function M.count()
  return #M.pending()
end

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

---What is known of a diff that is on the screen or on its way to it.
---@param id integer
---@return claude-ide.proposal.Entry?
function M.entry(id)
  return entries[id]
end

---@return table<integer, claude-ide.proposal.Entry> not a copy
function M.entries()
  return entries
end

---Those that wait for a decision, the longest waiting first.
---@return claude-ide.proposal.Entry[]
function M.pending_entries()
  return vim
    .iter(M.pending())
    :map(function(diff)
      return entries[diff.id]
    end)
    :totable()
end

return M
