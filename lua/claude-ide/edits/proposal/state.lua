-- Edits as a kind of request, of one or several files, and those that are shown or about to be. The queue is in `claude-ide.requests`.
local lazy = require("claude-ide.lazy")
local counted = lazy("claude-ide.base.counted")
local requests = lazy("claude-ide.requests")

local M = {}

M.KIND = "edit"

---@class claude-ide.Diff: claude-ide.Request
---@field state "pending"|claude-ide.proposal.Outcome
---@field files claude-ide.proposal.File[] at least one
---@field tab_name string name given by the requester; need not be unique
---@field note? string why it is asked about, for the winbar
---@field plan? claude-ide.proposal.Plan the editor worked out the texts of the files; nil: the requester did, of one file
---@field layout? claude-ide.diffview.LayoutName overrides the option
---@field place? claude-ide.diffview.PlaceName overrides the option
---@field applying? boolean it is being written
---@field words? string the reason for dropped changes, if it could not be written with them

---@class claude-ide.proposal.Plan
---@field notes string[] for the report
---@field unasked? boolean the session's mode accepts edits: applied without asking

---The answer to an accepted plan.
---@class claude-ide.proposal.PlanAnswer : claude-ide.requests.Answer
---@field report claude-ide.changeset.Report
---@field jobs claude-ide.changeset.Job[] files that were not dropped
---@field written boolean by the editor; else the requester writes

---One file that the requester proposes, or planned ones.
---@class claude-ide.proposal.Edit
---@field tab_name? string default: the path
---@field note? string why it is asked about
---@field path? string
---@field old_path? string default: the path
---@field contents? string exact bytes
---@field base? integer buffer that the edit is for, whatever is on disk; the requester changes it
---@field files? claude-ide.changeset.File[] planned
---@field plan? claude-ide.proposal.Plan of `files`
---@field layout? claude-ide.diffview.LayoutName
---@field place? claude-ide.diffview.PlaceName

---The outcome of a diff.
---@alias claude-ide.proposal.Outcome "accepted"|"rejected"|"closed"

---Name for notices.
---@param diff claude-ide.Diff
---@return string
function M.name_of(diff)
  local count = #diff.files
  return count == 1 and vim.fs.basename(diff.files[1].path) or counted(count, "file")
end

---Waiting diffs, oldest first.
---@param matches? fun(diff: claude-ide.Diff): boolean
---@return claude-ide.Diff[]
function M.pending(matches)
  local diffs = requests.pending(function(request)
    ---@cast request claude-ide.Diff
    local is_asked = request.kind == M.KIND and not (request.plan and request.plan.unasked)
    return is_asked and (not matches or matches(request))
  end)
  return diffs --[[@as claude-ide.Diff[] ]]
end

---@return integer
function M.count()
  return #M.pending()
end

---One file of a diff.
---@class claude-ide.proposal.File
---@field path string absolute; the file to write on acceptance
---@field old_path string absolute; the file that the edit is based on, usually the same
---@field proposed? string exact bytes; nil: planned
---@field base? integer buffer that the edit is for
---@field on_top? boolean it changed meanwhile, and the edit was merged with that
---@field planned? claude-ide.changeset.File
---@field kind? "modified"|"created"|"deleted"|"renamed" what acceptance does; nil: the requester's, and not read yet
---@field from? string absolute; the old path of a moved file
---@field dropped boolean as a whole
---@field is_preparing? boolean
---@field text? claude-ide.proposal.Prepared once both sides are ready
---@field tick? integer changedtick of the unedited proposal
---@field hunks? claude-ide.diffview.Hunks with the text
---@field typed? claude-ide.proposal.Text the user's version, if the buffer is gone

---A file whose texts can be shown.
---@class claude-ide.proposal.PreparedFile: claude-ide.proposal.File
---@field text claude-ide.proposal.Prepared
---@field hunks claude-ide.diffview.Hunks

---What the user does to a diff, and what the modules that show it ask of the presenter.
---@class claude-ide.proposal.Actions
---@field accept fun()
---@field reject fun()
---@field reject_with_reason fun()
---@field gone fun() its windows or buffers were closed
---@field show fun(how: claude-ide.proposal.ShowOpts)

---The data of a diff on the screen.
---@class claude-ide.proposal.Entry
---@field diff claude-ide.Diff
---@field actions claude-ide.proposal.Actions
---@field file claude-ide.proposal.PreparedFile the displayed one
---@field shown integer index of the file in the list; it is displayed once it is prepared
---@field view? claude-ide.diffview.View
---@field list? integer buffer of the list, if there are several files
---@field group? integer augroup
---@field unfollow? fun() of its file on disk
---@field was_shown? boolean
---@field overwrites? boolean the user knows that the file to create exists
---@field outdated? boolean being replaced: not shown any more
---@field waits? boolean it is ready, but its place is taken
---@field ended_by_others? boolean not the user takes it off the screen

---@type table<integer, claude-ide.proposal.Entry>
local entries = {}

---The buffer whose drawing counts as seeing the diff.
---@param entry claude-ide.proposal.Entry with its text
---@return integer buf
function M.sight(entry)
  return entry.list or entry.file.text.bufs.right
end

---The current buffers of a diff.
---@param entry claude-ide.proposal.Entry
---@return integer[]
function M.bufs(entry)
  local bufs = { entry.list } --[[@as integer[] ]]
  for _, file in ipairs(entry.diff.files) do
    vim.list_extend(bufs, vim.tbl_values(file.text and file.text.bufs or {}))
  end
  return bufs
end

---The data of a diff that is shown or about to be.
---@param id integer
---@return claude-ide.proposal.Entry?
function M.entry(id)
  return entries[id]
end

---@return claude-ide.proposal.Entry[]
function M.entries()
  return vim.tbl_values(entries)
end

---@param entry claude-ide.proposal.Entry
function M.add(entry)
  entries[entry.diff.id] = entry
end

---@param entry claude-ide.proposal.Entry
---@return boolean removed false: it is not the diff's
function M.remove(entry)
  local is_it = entries[entry.diff.id] == entry
  if is_it then
    entries[entry.diff.id] = nil
  end
  return is_it
end

---@return boolean
function M.is_empty()
  return next(entries) == nil
end

---Waiting diffs with data, oldest first.
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
