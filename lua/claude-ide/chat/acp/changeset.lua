-- An edit of several files at once that an agent asks for, or of one that goes or moves, as one changeset: files and hunks can be
-- dropped, texts be changed.
-- Left as it is, it is the agent's to write; what the person made of it is written by the editor.
local M = {}

---Questions that are taken back before the files were read.
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

---Larger files are not looked at.
local MAX_BYTES = 4 * 1024 * 1024

---Where a file was that a diff has at another place: one of those that the call names and tells no diff of.
---@param diff table of the agent
---@param path string
---@param places string[]
---@return string? from
local function moved_from(diff, path, places)
  if type(diff.oldText) ~= "string" or vim.uv.fs_lstat(path) then
    return nil
  end
  return vim.iter(places):find(function(place)
    local bytes = require("claude-ide.file").read_now(place, MAX_BYTES)
    return bytes ~= nil and with_lf(bytes) == with_lf(diff.oldText)
  end)
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

---@param diff table
---@return boolean
local function is_delete(diff)
  return type(diff._meta) == "table" and diff._meta.kind == "delete"
end

---Whether a call does more than edit one file.
---@param call table
---@param diffs table[]
---@return boolean
function M.is_meant(call, diffs)
  local places = other_places(call, diffs)
  return #diffs > 1
    or vim.iter(diffs):any(function(diff)
      return is_delete(diff) or moved_from(diff, diff.path, places) ~= nil
    end)
end

---What a call does, step by step. Codex says of each diff what it is (codex-acp 2.6.0), but for a file that it moves.
---@param call table
---@param diffs table[]
---@return claude-ide.changeset.Step[]
local function steps_of(call, diffs)
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  local steps, places = {}, other_places(call, diffs)
  for _, diff in ipairs(diffs) do
    local path = require("claude-ide.path").normalize(diff.path)
    local from = moved_from(diff, path, places)
    if from then
      steps[#steps + 1] = { kind = "rename", path = from, to = path }
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
  return ("%s edits %d files"):format(chat.name, #files)
end

---Asks the person for the edits of a call.
---@param request claude-ide.chat.acp.Request
---@param call table
---@param diffs table[] of the agent
---@param otherwise fun(request: claude-ide.chat.acp.Request) asks where they cannot be shown
function M.ask(request, call, diffs, otherwise)
  local are_absolute = vim.iter(diffs):all(function(diff)
    return diff.path:sub(1, 1) == "/"
  end)
  if not are_absolute then
    return otherwise(request)
  end
  local steps = steps_of(call, diffs)
  reading[request] = true
  require("claude-ide.changeset").plan_steps(steps, "utf-8", function(files, err)
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
  end)
end

---A question is taken back whose files are being read.
---@param chat claude-ide.chat.Chat
---@param id string
function M.forget(chat, id)
  for request in pairs(reading) do
    if request.chat == chat and request.id == id then
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
