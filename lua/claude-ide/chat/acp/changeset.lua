-- An edit of several files at once that an agent asks for, or of one that goes or moves, as one changeset: files and hunks can be
-- dropped, texts be changed.
-- Left as it is, it is the agent's to write; what the user made of it is written by the editor.
local M = {}

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
  local with_lf = require("claude-ide.buffer.bytes").with_lf
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

---What a call does, step by step, where it does more than edit one file.
---@param call table
---@param diffs table[] of the agent
---@param moves claude-ide.chat.acp.Moves
---@return claude-ide.changeset.Step[]? nil: it edits one file, or none
local function steps_of(call, diffs, moves)
  local kind = require("claude-ide.chat.acp.moves").kind
  if #diffs < 2 and not next(moves.from) and not (diffs[1] and kind(diffs[1]) == "delete") then
    return nil
  end
  local input = type(call.rawInput) == "table" and call.rawInput or {}
  local steps, moved = {}, {} ---@type claude-ide.changeset.Step[], table<string, true>
  for _, diff in ipairs(diffs) do
    local path = require("claude-ide.path").normalize(diff.path)
    local from = moves.from[path]
    if from and not moved[path] then
      moved[path] = true
      steps[#steps + 1] = { kind = "rename", path = from, to = path }
    end
    if kind(diff) == "delete" then
      steps[#steps + 1] = { kind = "delete", path = path }
    elseif not from or diff.oldText ~= "" or diff.newText ~= "" then
      steps[#steps + 1] = edit(diff, path, input.replace_all == true)
    end
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

---Asks the user for what a call does, where that is more than an edit of one file.
---@param request claude-ide.chat.acp.Request
---@param call table
---@param diffs table[] of the agent
---@param otherwise fun(request: claude-ide.chat.acp.Request) asks where it cannot be shown
---@return boolean is_asked false: it is another question
function M.ask(request, call, diffs, otherwise)
  local moves = require("claude-ide.chat.acp.moves").of(call, diffs)
  if #moves.untold > 0 then
    -- What the diffs do not tell would be accepted unseen with them.
    otherwise(request)
    return true
  end
  local steps = steps_of(call, diffs, moves)
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
  local reading = require("claude-ide.chat.reading")
  local function propose(files, err)
    if not reading.done(request) then
      return
    end
    local has_unsaved = vim.iter(files or {}):any(function(file)
      return file.source ~= nil and file.source.unsaved
    end)
    if not files or #files == 0 or has_unsaved then
      -- What the agent would write is then neither what is on the screen nor what could be shown beside it.
      require("claude-ide.log").debug("an edit of several files is asked in words: %s", err or "unsaved text")
      return otherwise(request)
    end
    require("claude-ide.ui.guard.keys").listen()
    require("claude-ide.changeset").propose(request.chat.asker, request, {
      title = title_of(call, request.chat, files),
      files = files,
      notes = {},
    })
  end
  reading.begin(request)
  local guarded = require("claude-ide.safely").catch(propose, function(trace)
    require("claude-ide.log").error("an edit of several files cannot be shown: %s", trace)
    otherwise(request)
  end)
  require("claude-ide.changeset").plan_steps(steps, guarded)
  return true
end

---@class claude-ide.chat.acp.Became what an edit became
---@field path string
---@field proposed? string
---@field accepted? string nil: the file was left as it was
---@field bytes? string that the file is to hold; nil: it goes, or stays as it is, or its encoding has no word for it

---@param job claude-ide.changeset.Job
---@return string? bytes in the encoding of the file
local function bytes_of(job)
  local text, buf = job.text, job.file.source and job.file.source.buf
  local bytes = text and require("claude-ide.buffer.bytes").encode(text.lines, text.format)
  local encoding = buf and vim.api.nvim_buf_is_valid(buf) and vim.bo[buf].fileencoding or ""
  return bytes and require("claude-ide.buffer.format").encoded(bytes, encoding)
end

---What the user made of it, file by file.
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
      bytes = bytes_of(job),
    }
  end
  for _, file in ipairs(answer.report.files) do
    found[#found + 1] = file.dropped and { path = file.path } or nil
  end
  return found
end

return M
