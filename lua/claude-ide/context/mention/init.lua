-- `:ClaudeSend` and `:Claude add`: mentions `@file#L1-2` in Claude's prompt.
-- Owns commands and notices; queue.lua delivers, explorers.lua reads windows of other plugins.
local lazy = require("claude-ide.lazy")
local buffer = lazy("claude-ide.editor.buffer")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local config = lazy("claude-ide.config")
local explorers = lazy("claude-ide.context.mention.explorers")
local file_side = lazy("claude-ide.ui.file_side")
local ide_path = lazy("claude-ide.base.path")
local listed = lazy("claude-ide.base.listed")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local privacy = lazy("claude-ide.server.privacy")
local queue = lazy("claude-ide.context.mention.queue")
local terminals = lazy("claude-ide.terminal")

local M = {}

---A file, a folder, or a range of lines.
---@class claude-ide.mention.Entry
---@field path string absolute
---@field first? integer line, from 1; nil: the whole file
---@field last? integer

---@type { entry: claude-ide.mention.Entry, to: string }[] sent, not reported yet
local sent = {}

---@type string[] warnings about files mentioned since
local warnings = {}

local function label(entry)
  if not entry.first then
    return ide_path.short(entry.path)
  elseif entry.first == entry.last then
    return ("%s:%d"):format(ide_path.short(entry.path), entry.first)
  end
  return ("%s:%d-%d"):format(ide_path.short(entry.path), entry.first, entry.last)
end

local function mentions(count)
  return count == 1 and "1 mention" or count .. " mentions"
end

---Warning about a mentioned file.
local function caution(entry)
  local buf = buffer.find(entry.path)
  if buf and vim.bo[buf].modified then
    return ide_path.short(entry.path) .. " has unsaved changes; Claude reads the file on disk."
  end
  if (buf and privacy.verdict(buf) == "private") or privacy.denied_by(entry.path) then
    return ide_path.short(entry.path) .. " is private; this mention lets Claude read it."
  end
end

---@param entries claude-ide.mention.Entry[]
local function cautions(entries)
  local found, seen = {}, {}
  for _, entry in ipairs(entries) do
    local text = not seen[entry.path] and caution(entry) or nil
    seen[entry.path] = true
    found[#found + 1] = text
  end
  return found
end

---One line: with a second one Neovim would wait for a key, or replace the first.
---@param what string[] results of the mentions
local function say(what)
  if #warnings == 0 then
    for _, text in ipairs(what) do
      notice.info(text)
    end
    return
  end
  local said = vim.tbl_map(function(text)
    return (text:gsub("%.?$", "."))
  end, what)
  local count = ("%d of these are private or have unsaved changes."):format(#warnings)
  notice.warn(one_line.fitting({
    table.concat(vim.list_extend(said, warnings), " "),
    #warnings == 1 and warnings[1] or count,
  }))
  warnings = {}
end

---Reports once for all mentions of this moment: `:Claude add a b c` is one action.
local say_soon = require("claude-ide.base.soon")(function()
  local what = {}
  if sent[1] then
    local is_one = vim.iter(sent):all(function(one)
      return one.to == sent[1].to
    end)
    local text = #sent == 1 and label(sent[1].entry) or mentions(#sent)
    what[#what + 1] = ("Sent to %s: %s"):format(is_one and sent[1].to or "Claude", text)
    sent = {}
  end
  local awaited = queue.awaited()
  if awaited then
    what[#what + 1] = ("Queued for %s: %s. Sent when a CLI connects."):format(
      awaited,
      mentions(queue.count())
    )
  end
  say(what)
end)

local function focus_terminal()
  local terminal = terminals.current()
  if terminal then
    terminals.show(terminal)
  end
end

---Mentioned by this command, `:g/x/ClaudeSend`, which mentions a file once.
---@type { command?: integer, entries: claude-ide.mention.Entry[] }
local just_now = { entries = {} }

---@param entries claude-ide.mention.Entry[]
---@return claude-ide.mention.Entry[] those that were not just mentioned
local function not_just_now(entries)
  -- Keys that were typed ahead run before what is scheduled, so a new command has a new number.
  local command = vim.fn.histnr(":")
  if just_now.command ~= command then
    just_now = { command = command, entries = {} }
  end
  local new = {}
  for _, entry in ipairs(entries) do
    local is_known = vim.iter(just_now.entries):any(function(other)
      return vim.deep_equal(other, entry)
    end)
    if not is_known then
      new[#new + 1], just_now.entries[#just_now.entries + 1] = entry, entry
    end
  end
  vim.schedule(function()
    just_now.command = nil
  end)
  return new
end

---Sends mentions now, or once a client is connected.
---@param entries claude-ide.mention.Entry[]
---@return boolean? ok
---@return string? err
local function send(entries)
  M.attach()
  entries = not_just_now(entries)
  if not entries[1] then
    return true
  end
  local cautious = cautions(entries)
  local taken, err = queue.push(entries)
  if not taken then
    return nil, err
  end
  vim.list_extend(warnings, cautious)
  say_soon()
  if queue.count() == 0 and config.get().mention.focus_terminal then
    focus_terminal()
  end
  return true
end

---@param path string absolute
---@param first? integer
---@param last? integer
---@return claude-ide.mention.Entry? entry
---@return string? err
local function entry_of(path, first, last)
  path = ide_path.normalize(path)
  local stat = vim.uv.fs_stat(path)
  if not stat then
    return nil, ide_path.short(path) .. " is not on disk, so Claude cannot read it. Write it first."
  elseif stat.type == "directory" then
    first, last = nil, nil
  end
  if first then
    last = math.max(last or first, first)
  end
  return { path = path, first = first, last = last }
end

---@param first? integer
---@param last? integer
---@return claude-ide.mention.Entry? entry
---@return string? err
local function entry_of_buffer(buf, first, last)
  if file_side.is(buf) then
    local cursor = vim.api.nvim_win_get_cursor(0)[1]
    local path, lnum = file_side.at(buf, first or cursor, last or first or cursor)
    if path then
      local _, last_lnum = file_side.at(buf, last or cursor, last or cursor)
      return entry_of(path, first and lnum, first and lnum and last_lnum)
    end
  end
  local name = vim.api.nvim_buf_get_name(buf)
  if name == "" then
    return nil, "This buffer has no file. Save it first."
  elseif not ide_path.is_plain(name) or vim.bo[buf].buftype == "terminal" or buffer_marks.kind(buf) then
    return nil, "This buffer is not a file, so it cannot be mentioned."
  end
  return entry_of(name, first, last)
end

---@param range? { first: integer, last: integer }
---@return boolean? ok
---@return string? err
local function send_here(range)
  local buf = vim.api.nvim_get_current_buf()
  local is_explorer, marked, err = explorers.entries(buf, range)
  if not is_explorer then
    local entry, why = entry_of_buffer(buf, range and range.first, range and range.last)
    if not entry then
      return nil, why
    end
    return send({ entry })
  end
  if not marked or #marked == 0 then
    return nil, err or "There is no file here to mention."
  end
  local entries, missing, problem = {}, {}, nil ---@type claude-ide.mention.Entry[], string[], string?
  for _, found in ipairs(marked) do
    local entry, why = entry_of(found.path, found.first, found.last)
    entries[#entries + 1] = entry
    missing[#missing + 1] = not entry and ide_path.short(found.path) or nil
    problem = problem or why
  end
  if not entries[1] then
    return nil, problem
  end
  local ok, not_sent = send(entries)
  if ok and missing[1] then
    notice.warn(("Not on disk, so not mentioned: %s."):format(listed(missing)))
  end
  return ok, not_sent
end

---Mentions lines of the current file; in an explorer or the quickfix window, the files on these lines.
---@param first integer from 1
---@param last integer
---@return boolean? ok
---@return string? err for the user
function M.send_range(first, last)
  return send_here({ first = math.min(first, last), last = math.max(first, last) })
end

---Mentions the current file; in an explorer, the marked files or the one under the cursor; in the quickfix window, the entry under
---the cursor.
---@return boolean? ok
---@return string? err for the user
function M.from_here()
  return send_here(nil)
end

---Mentions a file or a folder.
---@param path string
---@param first? integer line, from 1; nil: the whole file
---@param last? integer
---@return boolean? ok
---@return string? err for the user
function M.send_file(path, first, last)
  local entry, err = entry_of(path, first, last)
  if not entry then
    return nil, err
  end
  return send({ entry })
end

---Mentions several files and folders: all or none, to one client.
---@param paths string[]
---@return boolean? ok
---@return string? err for the user
function M.send_files(paths)
  local entries = {}
  for _, path in ipairs(paths) do
    local entry, err = entry_of(path)
    if not entry then
      return nil, err
    end
    entries[#entries + 1] = entry
  end
  return send(entries)
end

---Number of queued mentions.
---@return integer
function M.pending()
  return queue.count()
end

---Delivers queued mentions when clients connect. Idempotent.
function M.attach()
  queue.attach(function(entry, client)
    sent[#sent + 1] = { entry = entry, to = terminals.name_of(client) }
    say_soon()
  end)
end

return M
