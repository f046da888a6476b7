-- Accepts an edit of several files: everything not dropped is written, by the editor or, if the user changed nothing, by the source.
-- Invariant: nothing is written before it is accepted, and then all of it.
local M = {}

---@param diff claude-ide.Diff
---@return claude-ide.changeset.Job[]
local function jobs_of(diff)
  local files, jobs = require("claude-ide.proposal.files"), {}
  for _, item in ipairs(diff.files or {}) do
    if not files.left(item).nothing then
      jobs[#jobs + 1] = { file = item.file, text = files.wanted(item) }
    end
  end
  return jobs
end

---@param diff claude-ide.Diff
---@return claude-ide.changeset.Outcome[]
local function outcomes(diff)
  return vim.tbl_map(require("claude-ide.proposal.files").outcome, diff.files or {})
end

---Whether the user has changed nothing.
---@param diff claude-ide.Diff
---@return boolean
function M.is_as_proposed(diff)
  return vim.iter(outcomes(diff)):all(function(file)
    return not file.dropped and not file.edited and file.kept == file.total
  end)
end

---Saves a reason that can no longer be sent to a register.
---@param diff claude-ide.Diff
---@param words? string
local function give_back(diff, words)
  if words then
    local why = diff.applying and "The changes are being written" or "The changes are gone"
    require("claude-ide.ui.kept_words").give_back(words, why)
  end
end

---@class claude-ide.proposal.Applied
---@field ended fun() written, or left to the source
---@field failed fun(err: string) nothing was written

---@param diff claude-ide.Diff
---@param words? string reason for dropped changes
---@param applied claude-ide.proposal.Applied
function M.apply(diff, words, applied)
  local apply, jobs, files = require("claude-ide.changeset.apply"), jobs_of(diff), outcomes(diff)
  local is_left = diff.source.writes == "agent" and M.is_as_proposed(diff)
  local function over(err)
    diff.applying = false
    if err then
      applied.failed(err)
      if diff.state ~= "pending" then
        give_back(diff, words)
      end
      return
    end
    ---@type claude-ide.changeset.Report
    local report = {
      title = diff.tab_name,
      files = files,
      asked = not diff.unasked,
      words = words,
      notes = diff.notes or {},
    }
    ---@type claude-ide.proposal.FilesAnswer
    local answer = { outcome = "accepted", report = report, jobs = jobs, written = not is_left }
    if not require("claude-ide.decisions").settle(diff, answer) then
      -- The source has cancelled: only the user can be told.
      require("claude-ide.ui.notice").warn({
        ("%s: written as you accepted it, before it was taken back. `:Claude undo` undoes that."):format(
          require("claude-ide.proposal.state").name_of(diff)
        ),
        "Written as you accepted it, before it was taken back.",
      })
      give_back(diff, words)
    end
    applied.ended()
  end
  if is_left then
    local planned = vim.tbl_map(function(job)
      return job.file
    end, jobs)
    return over(apply.obstacle(planned, function() end))
  end
  diff.applying = true
  local opts = { client = diff.source.client, reviewed = not diff.unasked }
  apply.run(
    jobs,
    opts,
    require("claude-ide.safely").catch(over, function(trace)
      require("claude-ide.log").error("edit %d of several files cannot be ended: %s", diff.id, trace)
      require("claude-ide.decisions").fail(
        diff,
        "written, but the editor cannot say what became of it: see its log"
      )
      applied.ended()
    end)
  )
end

---@param diff claude-ide.Diff
---@return integer changes
local function count_dropped(diff)
  local count = 0
  for _, file in ipairs(outcomes(diff)) do
    count = count + (file.dropped and math.max(file.total, 1) or file.total - file.kept)
  end
  return count
end

---Accepts everything not dropped. If something is, asks for a reason.
---@param diff claude-ide.Diff waiting
---@param applied claude-ide.proposal.Applied
---@return boolean is_left false: nothing is left
function M.run(diff, applied)
  if #jobs_of(diff) == 0 then
    return false
  end
  local dropped = count_dropped(diff)
  if dropped == 0 then
    M.apply(diff, nil, applied)
    return true
  end
  local prompt = ("Why not the %s you dropped? (<CR> says nothing, <Esc> goes back) "):format(
    dropped == 1 and "change" or dropped .. " changes"
  )
  vim.ui.input({ prompt = prompt }, function(words)
    if not words then
      return
    end
    words = vim.trim(words) ~= "" and vim.trim(words) or nil
    if diff.state ~= "pending" or diff.applying then
      give_back(diff, words)
    else
      M.apply(diff, words, applied)
    end
  end)
  return true
end

return M
