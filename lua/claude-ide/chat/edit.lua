-- Shows an agent's edit as a diff or a changeset, and returns the user's version.
-- Invariant: the accepted text is what is written. The CLI reads files with LF line endings and the byte order mark as a character, so
-- texts are compared in that form. An Edit is sent in it, too, and gets the file's line endings; a Write keeps its own (CLI 2.1.329).
local bytes_of_text = require("claude-ide.editor.buffer.bytes")
local lazy = require("claude-ide.lazy")
local buffer_format = lazy("claude-ide.editor.buffer.format")
local changeset = lazy("claude-ide.edits.changeset")
local counted = lazy("claude-ide.base.counted")
local current_text = lazy("claude-ide.edits.proposal.current_text")
local log = lazy("claude-ide.base.log")
local permission = lazy("claude-ide.requests.card.permission")
local proposal = lazy("claude-ide.edits.proposal")
local safely = lazy("claude-ide.base.safely")
local typing = lazy("claude-ide.ui.guard.typing")

local M = {}

local BOM, with_lf, as_read = bytes_of_text.BOM, bytes_of_text.with_lf, bytes_of_text.as_read

---@class claude-ide.chat.AskedChange
---@field becomes "whole"|"piece"
---@field text string whole
---@field old string piece, with LF line ends
---@field new string piece
---@field all boolean piece: every occurrence

---@class claude-ide.chat.AskedStep
---@field step "make"|"rename"|"delete"
---@field path string make, delete
---@field change claude-ide.chat.AskedChange make
---@field from string rename
---@field to string rename

---@class claude-ide.chat.AskedEdit
---@field of "file"|"files"
---@field path string file
---@field change claude-ide.chat.AskedChange file
---@field title? string files
---@field steps claude-ide.chat.AskedStep[] files

---Replaces a piece of a text.
---@param text string
---@param old string
---@param new string
---@param all boolean every occurrence
---@return string? nil: not found, or ambiguous
function M.replaced(text, old, new, all)
  if old == "" then
    return vim.trim(text) == "" and new or nil
  end
  local pieces, from = {}, 1
  while true do
    local first, last = text:find(old, from, true)
    if not first or not last then
      break
    elseif #pieces > 0 and not all then
      return nil
    end
    pieces[#pieces + 1] = text:sub(from, first - 1) .. new
    from = last + 1
  end
  if #pieces == 0 then
    return nil
  end
  pieces[#pieces + 1] = text:sub(from)
  return table.concat(pieces)
end

---@param text string
---@return string[] lines with line endings
local function lines_of(text)
  local lines = {}
  for line in text:gmatch("[^\n]*\n?") do
    if line ~= "" then
      lines[#lines + 1] = line
    end
  end
  return lines
end

local function is_once(text, piece)
  local first = piece ~= "" and text:find(piece, 1, true)
  return first and not text:find(piece, first + 1, true) or false
end

---The arguments of an Edit that turns one text into another: the lines that differ, with enough context to be unique.
---@param before string
---@param after string
---@return { old_string: string, new_string: string, replace_all: boolean }
function M.arguments(before, after)
  local old, new = lines_of(before), lines_of(after)
  local first, from_end = 1, 0
  while first <= #old and first <= #new and old[first] == new[first] do
    first = first + 1
  end
  while
    from_end < #old - first + 1
    and from_end < #new - first + 1
    and old[#old - from_end] == new[#new - from_end]
  do
    from_end = from_end + 1
  end
  local function piece(lines, above, below)
    return table.concat(lines, "", first - above, #lines - from_end + below)
  end
  local above, below = 0, 0
  local context = 0
  while not is_once(before, piece(old, above, below)) do
    if above == first - 1 and below == from_end then
      break
    end
    context = context == 0 and 1 or context * 2
    above, below = math.min(context, first - 1), math.min(context, from_end)
  end
  return { old_string = piece(old, above, below), new_string = piece(new, above, below), replace_all = false }
end

---Shows a text request instead of a diff.
local function ask_otherwise(request)
  local ask = request.otherwise or permission.ask
  ask(request)
end

---The text after a change.
---@param change claude-ide.chat.AskedChange
---@param before? string as the agent reads it; nil: no such file
---@return string? after nil: unknown
local function changed(change, before)
  if change.becomes == "whole" then
    return change.text
  end
  return M.replaced(
    before or "",
    change.old --[[@as string]],
    change.new --[[@as string]],
    change.all == true
  )
end

---The bytes written for a text: with the file's byte order mark and line endings.
---@param on_disk? string nil: no such file
---@param text string
---@return string bytes
function M.as_written(on_disk, text)
  local before = on_disk and with_lf(on_disk)
  if not on_disk or not before then
    return text
  elseif vim.startswith(before, BOM) and not vim.startswith(text, BOM) then
    text = BOM .. text
  end
  local is_crlf = before ~= on_disk and not on_disk:find("[^\r]\n")
  return is_crlf and (with_lf(text):gsub("\n", "\r\n")) or text
end

---@param request claude-ide.chat.Request
---@param disk claude-ide.proposal.Disk
local function propose(request, disk)
  local edit = request.ask.edit --[[@as claude-ide.chat.AskedEdit]]
  local on_disk = disk.bytes and bytes_of_text.text(disk.bytes)
  local after = not disk.problem and changed(edit.change, on_disk and with_lf(on_disk))
  if not after then
    return ask_otherwise(request)
  end
  typing.listen()
  request.proposed, request.on_disk = M.as_written(on_disk, after), disk.bytes
  proposal.propose(request.chat.requester, request, {
    path = edit.path,
    contents = request.proposed,
  })
end

---Questions whose files are being read: they may be taken back, or their agent be gone, before they are shown.
---@type table<claude-ide.chat.Request, true>
local reading = {}

---Reads a text for an edit, and shows the edit unless the request has ended meanwhile.
---@param request claude-ide.chat.Request
---@param read fun(done: fun(...))
---@param show fun(...)
---@param failed fun(trace: string)
function M.read_and_show(request, read, show, failed)
  reading[request] = true
  read(safely.catch(function(...)
    if reading[request] then
      reading[request] = nil
      show(...)
    end
  end, failed))
end

---Drops withdrawn requests.
---@param chat claude-ide.chat.Chat
---@param id? string default: all of the chat
function M.forget(chat, id)
  for request in pairs(reading) do
    if request.chat == chat and (not id or request.id == id) then
      reading[request] = nil
    end
  end
end

---@param change claude-ide.chat.AskedChange
---@return fun(text?: claude-ide.changeset.Text): claude-ide.changeset.Text?, string?
local function maker(change)
  return function(text)
    local after = changed(change, as_read(text))
    if not after then
      return nil, "the text to be replaced is not there, or not only there"
    end
    local lines, format = bytes_of_text.decode(text and with_lf(after) or after, text and "\n" or nil)
    if text then
      format.eol, format.bom = text.format.eol, text.format.bom
    end
    return { lines = lines, format = format }
  end
end

---@param step claude-ide.chat.AskedStep
---@return claude-ide.changeset.Step
local function step_of(step)
  if step.step == "rename" then
    return { kind = "rename", path = step.from, to = step.to }
  elseif step.step == "delete" then
    return { kind = "delete", path = step.path }
  end
  return { kind = "make", path = step.path, make = maker(step.change) }
end

---@param request claude-ide.chat.Request
---@param files? claude-ide.changeset.File[]
---@param err? string
local function propose_files(request, files, err)
  local has_unsaved = vim.iter(files or {}):any(function(file)
    return file.source ~= nil and file.source.unsaved
  end)
  if not files or #files == 0 or has_unsaved then
    -- The agent would then write neither the text on screen nor the one shown beside it.
    log.debug("an edit of several files is asked in words: %s", err or "unsaved text")
    return ask_otherwise(request)
  end
  typing.listen()
  local edit = request.ask.edit --[[@as claude-ide.chat.AskedEdit]]
  local count = ("%s changes %s"):format(request.chat.name, counted(#files, "file"))
  proposal.propose(request.chat.requester, request, {
    tab_name = edit.title or count,
    files = files,
    plan = { notes = {} },
  })
end

---Shows an edit: of one file as a diff, of several as a changeset.
---@param request claude-ide.chat.Request
function M.ask(request)
  local edit = request.ask.edit --[[@as claude-ide.chat.AskedEdit]]
  local function failed(trace)
    log.error("an edit cannot be shown: %s", trace)
    ask_otherwise(request)
  end
  if edit.of == "file" then
    return M.read_and_show(request, function(done)
      current_text.read(edit.path, done)
    end, function(disk)
      propose(request, disk)
    end, failed)
  end
  M.read_and_show(request, function(done)
    changeset.plan_steps(vim.tbl_map(step_of, edit.steps), done)
  end, function(files, err)
    propose_files(request, files, err)
  end, failed)
end

---The call's arguments for the accepted text.
---@param request claude-ide.chat.Request
---@param accepted string
---@return table
function M.arguments_for(request, accepted)
  local on_disk = request.on_disk and bytes_of_text.text(request.on_disk)
  local before, edit = on_disk and with_lf(on_disk) or "", request.ask.edit --[[@as claude-ide.chat.AskedEdit]]
  local change = edit.change
  local after = changed(change, on_disk and before) or ""
  -- The CLI keeps a byte order mark that is missing in the arguments.
  local keeps_bom = vim.startswith(before, BOM) and not vim.startswith(after, BOM)
  if keeps_bom and vim.startswith(accepted, BOM) then
    accepted = accepted:sub(#BOM + 1)
  end
  if change.becomes == "whole" then
    return { content = accepted }
  end
  return M.arguments(keeps_bom and before:sub(#BOM + 1) or before, with_lf(accepted))
end

---@class claude-ide.chat.Became the result of an edit
---@field path string
---@field proposed? string
---@field accepted? string nil: the file is unchanged
---@field bytes? string new bytes; nil: deleted, unchanged, or not representable in its encoding

---@param job claude-ide.changeset.Job
---@return string? bytes in the encoding of the file
local function bytes_of(job)
  local text, buf = job.text, job.file.source and job.file.source.buf
  local bytes = text and bytes_of_text.encode(text.lines, text.format)
  local encoding = buf and vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].fileencoding or ""
  return bytes and buffer_format.encoded(bytes, encoding)
end

---The user's version of several files.
---@param answer claude-ide.proposal.PlanAnswer
---@return claude-ide.chat.Became[]
function M.became_of(answer)
  local found = {} ---@type claude-ide.chat.Became[]
  for _, job in ipairs(answer.jobs) do
    found[#found + 1] = {
      path = job.file.path,
      proposed = as_read(job.file.after),
      accepted = as_read(job.text),
      bytes = bytes_of(job),
    }
  end
  for _, file in ipairs(answer.report.files) do
    found[#found + 1] = file.dropped and { path = file.path } or nil
  end
  return found
end

return M
