-- Edits as a kind of decision, of one file or of several: what is special to them. The queue is `claude-ide.decisions`.
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

---@param id integer
---@return claude-ide.Diff?
function M.get(id)
  return M.pending(function(diff)
    return diff.id == id
  end)[1]
end

---@return integer
function M.count()
  return #M.pending()
end

return M
