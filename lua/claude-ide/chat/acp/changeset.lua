-- An edit of several files at once that an agent asks for, or of one that goes or moves, as one changeset: files and hunks can be
-- dropped, texts be changed.
-- Left as it is, it is the agent's to write; what the person made of it is written by the editor.
local M = {}

---Questions whose files are being read: one that is taken back meanwhile is not asked.
---@type table<claude-ide.chat.acp.Request, true>
local reading = {}

---@param text string
---@return string
local function with_lf(text)
  return (text:gsub("\r\n", "\n"))
end

---@param text? claude-ide.changeset.Text
---@return string with LF line ends and no byte order mark, as agents read files
local function as_read(text)
  if not text or text.format.empty then
    return ""
  end
  return table.concat(text.lines, "\n") .. (text.format.final and "\n" or "")
end

---@param diff table of the agent
---@param path string
---@param all boolean the old text may be there more than once
---@return claude-ide.changeset.Step
local function edit(diff, path, all)
  local old = type(diff.oldText) == "string" and with_lf(diff.oldText) or nil
  local new = tostring(diff.newText or "")
  return {
    kind = "make",
    path = path,
    make = function(text)
      local after = new
      if text then
        after = with_lf(new)
      end
      if old then
        local made = require("claude-ide.chat.edit").replaced(as_read(text), old, after, all)
        if not made then
          return nil, "the text to be replaced is not there, or not only there"
        end
        after = made
      end
      local bytes = require("claude-ide.buffer.bytes")
      local lines, format = bytes.decode(after, text and "\n" or nil)
      if text then
        format.eol, format.bom = text.format.eol, text.format.bom
      end
      return { lines = lines, format = format }
    end,
  }
end

---Places of a call of which no diff is told.
---@param call table
---@param diffs table[]
---@return string[]
local function other_places(call, diffs)
  local normalize, told, places = require("claude-ide.path").normalize, {}, {}
  for _, diff in ipairs(diffs) do
    told[normalize(diff.path)] = true
  end
  for _, location in ipairs(type(call.locations) == "table" and call.locations or {}) do
    local path = type(location) == "table" and type(location.path) == "string" and normalize(location.path)
    places[#places + 1] = path and not told[path] and path or nil
  end
  return places
end

---Larger files are not looked at.
local MAX_BYTES = 4 * 1024 * 1024

---@param diff table
---@return boolean
local function is_delete(diff)
  return type(diff._meta) == "table" and diff._meta.kind == "delete"
end

---Whether a diff may be of a file that moves: it is told with its text, and there is none of its name.
---@param diff table
---@return boolean
local function may_be_moved(diff)
  return type(diff.oldText) == "string" and not is_delete(diff) and vim.uv.fs_lstat(diff.path) == nil
end

---Where files were that diffs have at another place: at those that the call names and tells no diff of. Each is read once.
---@param call table
---@param diffs table[] of the agent
---@return table<table, string> from by diff
local function moves_of(call, diffs)
  local moved, from = vim.tbl_filter(may_be_moved, diffs), {} ---@type table[], table<table, string>
  local by_text = {} ---@type table<string, string[]>
  for _, place in ipairs(#moved > 0 and other_places(call, diffs) or {}) do
    local bytes = require("claude-ide.file").read_now(place, MAX_BYTES)
    local text = bytes and with_lf(bytes)
    if text then
      by_text[text] = by_text[text] or {}
      table.insert(by_text[text], place)
    end
  end
  for _, diff in ipairs(moved) do
    local place = table.remove(by_text[with_lf(diff.oldText)] or {}, 1) -- it goes to one place
    rawset(from, diff, place)
  end
  return from
end

---What a call does, step by step, where it does more than edit one file. Codex says of each diff what it is (codex-acp 2.6.0), but
---for a file that it moves.
---@param call table
---@param diffs table[] of the agent
---@return claude-ide.changeset.Step[]? nil: it edits one file, or none
local function steps_of(call, diffs)
  local moves = moves_of(call, diffs)
  if #diffs < 2 and not next(moves) and not vim.iter(diffs):any(is_delete) then
    return nil
  end
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  local steps, normalize = {}, require("claude-ide.path").normalize
  for _, diff in ipairs(diffs) do
    local path = normalize(diff.path)
    if moves[diff] then
      steps[#steps + 1] = { kind = "rename", path = moves[diff], to = path }
    end
    steps[#steps + 1] = is_delete(diff) and { kind = "delete", path = path }
      or edit(diff, path, input.replace_all == true)
  end
  return steps
end

---@param call table
---@param chat claude-ide.chat.Chat
---@param files claude-ide.changeset.File[]
---@return string
local function title_of(call, chat, files)
  if type(call.title) == "string" and vim.trim(call.title) ~= "" then
    return call.title
  end
  return ("%s changes %d file%s"):format(chat.name, #files, #files == 1 and "" or "s")
end

---Asks the person for what a call does, where that is more than an edit of one file.
---@param request claude-ide.chat.acp.Request
---@param call table
---@param diffs table[] of the agent
---@param otherwise fun(request: claude-ide.chat.acp.Request) asks where it cannot be shown
---@return boolean is_asked false: it is another question
function M.ask(request, call, diffs, otherwise)
  local steps = steps_of(call, diffs)
  if not steps then
    return false
  end
  local are_absolute = vim.iter(diffs):all(function(diff)
    return diff.path:sub(1, 1) == "/"
  end)
  if not are_absolute then
    otherwise(request)
    return true
  end
  local function propose(files, err)
    if not reading[request] then
      return
    end
    reading[request] = nil
    local has_unsaved = vim.iter(files or {}):any(function(file)
      return file.source ~= nil and file.source.unsaved
    end)
    if not files or #files == 0 or has_unsaved then
      -- What the agent would write is then neither what is on the screen nor what could be shown beside it.
      require("claude-ide.log").debug("an edit of several files is asked in words: %s", err or "unsaved text")
      return otherwise(request)
    end
    require("claude-ide.ui.typing").attach("chats")
    require("claude-ide.changeset").propose(request.chat.asker, request, {
      title = title_of(call, request.chat, files),
      files = files,
      notes = {},
    })
  end
  reading[request] = true
  local guarded = require("claude-ide.safely").catch(propose, function(trace)
    require("claude-ide.log").error("an edit of several files cannot be shown: %s", trace)
    otherwise(request)
  end)
  require("claude-ide.changeset").plan_steps(steps, "utf-8", guarded)
  return true
end

---Questions are taken back whose files are being read.
---@param chat claude-ide.chat.Chat
---@param id? string nil: all of them, for the agent is gone
function M.forget(chat, id)
  for request in pairs(reading) do
    if request.chat == chat and (not id or request.id == id) then
      reading[request] = nil
    end
  end
end

---@class claude-ide.chat.acp.Became what an edit became
---@field path string
---@field proposed? string
---@field accepted? string nil: the file was left as it was
---@field bytes? string that the file is to hold; nil: it goes, or stays as it is

---What the person made of it, file by file.
---@param answer claude-ide.changeset.Answer
---@return claude-ide.chat.acp.Became[]
function M.became(answer)
  local found = {} ---@type claude-ide.chat.acp.Became[]
  for _, job in ipairs(answer.jobs) do
    local text = job.text
    found[#found + 1] = {
      path = job.file.path,
      proposed = as_read(job.file.after),
      accepted = as_read(text),
      bytes = text and require("claude-ide.buffer.bytes").encode(text.lines, text.format) or nil,
    }
  end
  for _, file in ipairs(answer.report.files) do
    found[#found + 1] = file.dropped and { path = file.path } or nil
  end
  return found
end

return M
