-- Rules for accepting a proposal: what is written, and whether it is still a change. Of a plan everything that is not dropped is written,
-- by the editor or, if the user changed nothing, by the requester.
-- Invariant: nothing of a plan is written before it is accepted, and then all of it.
local lazy = require("claude-ide.lazy")
local apply = lazy("claude-ide.edits.changeset.apply")
local buffer_bytes = lazy("claude-ide.editor.buffer.bytes")
local changeset = lazy("claude-ide.edits.changeset")
local counted = lazy("claude-ide.base.counted")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local ide_file = lazy("claude-ide.base.file")
local kept_words = lazy("claude-ide.ui.kept_words")
local log = lazy("claude-ide.base.log")
local merge = lazy("claude-ide.editor.merge")
local merge_unsaved = lazy("claude-ide.edits.proposal.merge_unsaved")
local notice = lazy("claude-ide.base.notice")
local proposal_files = lazy("claude-ide.edits.proposal.files")
local requests = lazy("claude-ide.requests")
local safely = lazy("claude-ide.base.safely")
local state = lazy("claude-ide.edits.proposal.state")

local M = {}

---Whether the requester is the CLI, which answers by the text: it keeps a file's byte order mark and CRLF whatever is accepted, and takes
---the present text, or no text for a new file, for a rejection.
---@param requester claude-ide.requests.Requester
---@return boolean
local function is_cli(requester)
  return requester.writes == "agent" and not requester.takes_empty and not requester.overwrites
end

---@param now claude-ide.proposal.Now
---@param text string accepted
---@return boolean
local function is_same_to_the_cli(now, text)
  local on_disk = now.disk.bytes and buffer_bytes.text(now.disk.bytes)
  if not on_disk then
    return false
  elseif now.format.eol == "\r\n" then
    return buffer_bytes.same_text(on_disk, text)
  end
  -- With mixed line ends these are text, and the user drops them like any other change.
  return now.format.bom and (on_disk == buffer_bytes.BOM .. text or on_disk == text)
end

---Whether nothing of the change is left: the text equals the base or the file, or nothing of a new file was kept. The CLI takes that
---for a rejection, so it must not be shown as accepted.
---@param diff claude-ide.Diff
---@param file claude-ide.proposal.PreparedFile
---@param bytes? string text as edited by the user
---@return boolean
function M.is_nothing_left(diff, file, bytes)
  local now = file.text.now
  local on_disk, cli = now.disk.bytes, is_cli(diff.requester)
  if not bytes then
    return on_disk == file.proposed or cli and is_same_to_the_cli(now, file.proposed --[[@as string]])
  elseif cli and bytes == "" and not on_disk then
    return file.proposed ~= ""
  end
  return (cli or now.format.eol == "\r\n") and is_same_to_the_cli(now, bytes)
    or bytes == on_disk
    or now.against ~= "nothing" and bytes == buffer_bytes.encode(now.lines, now.format, now.format.empty)
end

---Whether the CLI would misread an acceptance: it takes an empty new file for "unchanged".
---@param diff claude-ide.Diff
---@param contents string
---@return boolean
function M.is_empty_new_file(diff, contents)
  local text = diff.files[1].text
  return contents == ""
    and diff.requester.writes == "agent"
    and not diff.requester.takes_empty
    and text ~= nil
    and text.now.disk.bytes == nil
    and diff.files[1].proposed == ""
end

---Whether the file that the proposal creates exists by now. The CLI would overwrite it silently (2.1.329), unlike a file that it has
---read.
---@param file claude-ide.proposal.File
---@param contents string accepted
---@return boolean
function M.is_made_by_others(file, contents)
  if file.kind ~= "created" then
    return false
  end
  local stat = vim.uv.fs_stat(file.path)
  return stat ~= nil and stat.size > 0 and ide_file.read_now(file.path, #contents) ~= contents
end

---@param path string
---@return string? bytes
local function contents_of(path)
  return (ide_file.read_now(path, current_text.MAX_BYTES))
end

---Whether the file differs from the diff's base, and its writer would not notice.
---@param diff claude-ide.Diff
---@return boolean
function M.is_outdated(diff)
  local file = diff.files[1]
  local disk = file.text and file.proposed and not file.base and file.text.now.disk
  if not disk or not diff.requester.overwrites then
    return false
  end
  local key, path = ide_file.key, file.old_path
  local stat = vim.uv.fs_stat(path)
  if stat and disk.stat and key(stat) == key(disk.stat) then
    return false
  end
  return contents_of(path) ~= disk.bytes
end

---Applies an edit to the file's current content: concurrent changes stay, except in lines that the edit changes too.
---@param disk claude-ide.proposal.Disk base of the edit
---@param contents string
---@param path string
---@return string contents
function M.on_top(disk, contents, path)
  local current = contents_of(path)
  if not current or not disk.bytes then
    return contents
  end
  local base, base_format = buffer_bytes.decode(disk.bytes)
  local mine, my_format = buffer_bytes.decode(current)
  local theirs, their_format = buffer_bytes.decode(contents)
  local are_alike = base_format.eol == my_format.eol and my_format.eol == their_format.eol
  if not are_alike or base_format.empty or my_format.empty or their_format.empty then
    return contents
  end
  local merged = merge.three_way(base, mine, theirs)
  local final = their_format.final
  if their_format.final == base_format.final then
    final = my_format.final
  end
  return buffer_bytes.encode(
    merged,
    { bom = their_format.bom, eol = their_format.eol, final = final, empty = false }
  )
end

---The text for the CLI to write, and for the file's buffer if that differs.
---@param file claude-ide.proposal.File
---@param bytes? string text as edited by the user
---@return string contents
---@return claude-ide.proposal.Afterwards?
function M.to_write(file, bytes)
  local text, contents = file.text, bytes or file.proposed --[[@as string]]
  local unsaved = text and text.unsaved
  if not text or not unsaved then
    return contents, nil
  end
  local accepted, written = unsaved.shown, unsaved.proposed
  if bytes then
    accepted = vim.api.nvim_buf_get_lines(text.bufs.right, 0, -1, false)
    written = merge_unsaved.split(unsaved, accepted)
    contents = buffer_bytes.encode(written, text.format)
  end
  return contents, { before = text.now.lines, accepted = accepted, written = written }
end

---What is not dropped of a plan.
---@param diff claude-ide.Diff
---@return claude-ide.changeset.Job[]
---@return claude-ide.proposal.File[] files of the jobs
local function jobs_of(diff)
  local jobs, files = {}, {}
  for _, file in ipairs(diff.files) do
    if not proposal_files.remaining(file).nothing then
      jobs[#jobs + 1] = { file = file.planned, text = proposal_files.wanted(file) }
      files[#files + 1] = file
    end
  end
  return jobs, files
end

---@param diff claude-ide.Diff
---@return claude-ide.changeset.Outcome[]
local function outcomes(diff)
  return vim.tbl_map(proposal_files.outcome, diff.files)
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
function M.give_back(diff, words)
  if words then
    local gone = diff.plan and "The changes were withdrawn" or "The proposal was withdrawn"
    local why = diff.applying and "The changes are being written" or gone
    kept_words.give_back(words, why)
  end
end

---@param jobs claude-ide.changeset.Job[]
---@return string? err
local function obstacle(jobs)
  local planned = vim.tbl_map(function(job)
    return job.file
  end, jobs)
  return apply.obstacle(planned, function() end)
end

---@class claude-ide.proposal.Applied
---@field ended fun() written, or left to the requester
---@field failed fun(err: string) nothing was written

---@param diff claude-ide.Diff
---@param words? string reason for dropped changes
---@param applied claude-ide.proposal.Applied
function M.apply_plan(diff, words, applied)
  local jobs, files = jobs_of(diff), outcomes(diff)
  local plan = diff.plan --[[@as claude-ide.proposal.Plan]]
  local is_left = diff.requester.writes == "agent" and M.is_as_proposed(diff)
  local function over(err)
    diff.applying = false
    if err then
      diff.words = words
      applied.failed(err)
      if diff.state ~= "pending" then
        M.give_back(diff, words)
      end
      return
    end
    ---@type claude-ide.changeset.Report
    local report = {
      title = diff.tab_name,
      files = files,
      asked = not plan.unasked,
      words = words,
      notes = plan.notes,
    }
    ---@type claude-ide.proposal.PlanAnswer
    local answer = { outcome = "accepted", report = report, jobs = jobs, written = not is_left }
    if not requests.settle(diff, answer) then
      -- The requester has cancelled: only the user can be told.
      notice.warn({
        ("`:Claude undo` undoes that: %s, written as you accepted it, before it was withdrawn."):format(
          state.name_of(diff)
        ),
        "Written as you accepted it, before it was withdrawn.",
      })
      M.give_back(diff, words)
    end
    applied.ended()
  end
  if is_left then
    return over(obstacle(jobs))
  end
  diff.applying = true
  local opts = { client = diff.requester.client, reviewed = not plan.unasked }
  apply.run(
    jobs,
    opts,
    safely.catch(over, function(trace)
      log.error("plan %d cannot be ended: %s", diff.id, trace)
      requests.fail(diff, "written, but the editor cannot say what became of it: see its log")
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

---Plans what was not dropped anew, on top of what others have changed meanwhile.
---@param diff claude-ide.Diff
---@param done fun(is_renewed: boolean, err?: string) err: why it cannot be
function M.renew_plan(diff, done)
  local jobs, files = jobs_of(diff)
  if not changeset.is_outdated(jobs) then
    return done(false)
  end
  local dropped = count_dropped(diff)
  changeset.renew(jobs, function(planned, err)
    if diff.state ~= "pending" or diff.applying or not planned then
      return done(false, err)
    end
    for i, file in ipairs(files) do
      file.planned = planned[i]
    end
    if dropped > 0 then
      local words = ("the user dropped %s before others changed the files"):format(counted(dropped, "change"))
      local plan = diff.plan --[[@as claude-ide.proposal.Plan]]
      table.insert(plan.notes, words)
    end
    done(true)
  end)
end

---Accepts everything not dropped. If something is, asks for a reason, unless there is an obstacle.
---@param diff claude-ide.Diff waiting
---@param applied claude-ide.proposal.Applied
---@return boolean is_left false: nothing is left
function M.accept_plan(diff, applied)
  local jobs = jobs_of(diff)
  if #jobs == 0 then
    return false
  end
  local dropped = count_dropped(diff)
  local err = dropped > 0 and obstacle(jobs)
  if err then
    applied.failed(err)
    return true
  elseif dropped == 0 then
    M.apply_plan(diff, diff.words, applied)
    return true
  end
  local prompt = ("Reason for dropping the %s (<CR>: none, <Esc>: cancel): "):format(
    dropped == 1 and "change" or dropped .. " changes"
  )
  vim.ui.input({ prompt = prompt, default = diff.words }, function(words)
    if not words then
      return
    end
    words = vim.trim(words) ~= "" and vim.trim(words) or nil
    if diff.state ~= "pending" or diff.applying then
      M.give_back(diff, words)
    else
      M.apply_plan(diff, words, applied)
    end
  end)
  return true
end

return M
