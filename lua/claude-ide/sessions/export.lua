-- A session as a Markdown document: a new buffer that has a name and is not written yet, so that the user reads it first
-- and decides. It is made in pieces, so that a session of any size never holds Neovim up.

local M = {}

---Rows asked for at once, and bytes of the file behind the messages asked for at once.
local ROWS, BYTES = 500, 128 * 1024
---Longest text of a message or a tool's result; more of it is named, not shown.
local MAX_TEXT = 64 * 1024
---From this size on the buffer gets no filetype: highlighting would hold Neovim up.
local MAX_HIGHLIGHTED = 2 * 1024 * 1024
---A notice tells how far it is where it takes longer than this.
local PATIENCE_MS = 1000

---@class claude-ide.sessions.Export
---@field summary claude-ide.sessions.Summary
---@field buf integer
---@field transcript claude-ide.sessions.Transcript
---@field rows claude-ide.sessions.Row[] known and not written yet
---@field next_row integer the first one that is not asked for
---@field previous? claude-ide.sessions.Message
---@field head integer lines above the first message
---@field from? integer when the first message began
---@field to? integer when the last one ended
---@field bytes integer written so far
---@field told? number when the user was last told how far it is
---@field request claude-ide.ui.attention.Asked

---A name for the file, of what any file system takes.
---@param summary claude-ide.sessions.Summary
---@return string
local function file_name(summary)
  local words = require("claude-ide.sessions.phrases")
  local title = words.title(summary):gsub('[/\\:*?"<>|%%#]', " "):gsub("^[%s.]+", "")
  title = vim.trim((vim.fn.strcharpart(title, 0, 60):gsub("%s+", " ")))
  local stem = title ~= "" and title or summary.id
  local name, number = stem .. ".md", 1
  while
    vim.uv.fs_stat(name)
    or vim.fn.bufnr("^" .. vim.fn.fnameescape(vim.fn.fnamemodify(name, ":p")) .. "$") > 0
  do
    number = number + 1
    name = ("%s %d.md"):format(stem, number)
  end
  return name
end

---@param export claude-ide.sessions.Export
---@param lines string[]
local function append(export, lines)
  vim.api.nvim_buf_set_lines(export.buf, -1, -1, false, lines)
  for _, line in ipairs(lines) do
    export.bytes = export.bytes + #line + 1
  end
end

---@param export claude-ide.sessions.Export
---@return boolean goes_on false where the user has wiped the buffer out
local function is_wanted(export)
  local wanted = vim.api.nvim_buf_is_loaded(export.buf)
  if not wanted then
    export.transcript:close()
  end
  return wanted
end

---Puts the head down, anew where it is there already: from when to when it goes is known once all messages are.
---@param export claude-ide.sessions.Export
local function write_head(export)
  local lines = require("claude-ide.sessions.markdown").head(export.summary, export.from, export.to)
  vim.api.nvim_buf_set_lines(export.buf, 0, export.head, false, lines)
  export.head = #lines
end

---@param export claude-ide.sessions.Export
local function show(export)
  local buf = export.buf
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  write_head(export)
  if vim.api.nvim_buf_get_lines(buf, -2, -1, false)[1] == "" then
    vim.api.nvim_buf_set_lines(buf, -2, -1, false, {})
  end
  vim.api.nvim_buf_set_name(buf, file_name(export.summary))
  vim.bo[buf].undolevels = vim.go.undolevels
  vim.bo[buf].buflisted = true
  vim.bo[buf].modified = true
  local win, focused = require("claude-ide.ui.file_window").show(buf)
  if export.bytes <= MAX_HIGHLIGHTED then
    vim.bo[buf].filetype = "markdown"
  end
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t")
  local where = win and focused and "`:w` writes it." or "It is among your buffers, `:w` writes it."
  require("claude-ide.ui.notice").info(require("claude-ide.ui.one_line").fitting({
    ("Exported as %s. %s"):format(name, where),
    "Exported. " .. where,
  }))
end

---@param export claude-ide.sessions.Export
local function finish(export)
  export.transcript:close()
  require("claude-ide.ui.attention").when_still("export " .. export.buf, function()
    show(export)
  end, export.request)
end

---@param export claude-ide.sessions.Export
---@param err? string
local function fail(export, err)
  export.transcript:close()
  if vim.api.nvim_buf_is_valid(export.buf) then
    vim.api.nvim_buf_delete(export.buf, { force = true })
  end
  require("claude-ide.ui.notice").error("The session cannot be exported: " .. (err or "unknown reason"))
end

---@param export claude-ide.sessions.Export
local function tell_progress(export)
  local now = vim.uv.now()
  export.told = export.told or now
  if now - export.told > PATIENCE_MS then
    export.told = now
    local total = math.max(export.transcript:info().len, 1)
    local share = math.floor(100 * (export.next_row - #export.rows) / total)
    require("claude-ide.ui.notice").info(("Exporting: %d %%"):format(share))
  end
end

---Takes so many rows off the front as are read at once.
---@param export claude-ide.sessions.Export
---@return integer[] ids
local function next_batch(export)
  local ids, bytes, taken = {}, 0, 0
  for _, row in ipairs(export.rows) do
    if bytes > 0 and bytes + row.bytes > BYTES then
      break
    end
    taken = taken + 1
    if require("claude-ide.sessions.markdown").is_shown(row.kind) then
      ids[#ids + 1], bytes = row.id, bytes + row.bytes
    end
  end
  export.rows = vim.list_slice(export.rows, taken + 1)
  return ids
end

local step

---@param export claude-ide.sessions.Export
---@param messages claude-ide.sessions.Message[]
local function write(export, messages)
  local markdown = require("claude-ide.sessions.markdown")
  local lines = {}
  for _, message in ipairs(messages) do
    local text = markdown.message(message, export.previous, export.summary.cwd)
    if #text > 0 then
      export.from = export.from or message.start
      export.to = message["end"] or message.start or export.to
      vim.list_extend(lines, text)
      export.previous = message
    end
  end
  append(export, lines)
  tell_progress(export)
  step(export)
end

---@param export claude-ide.sessions.Export
step = function(export)
  if #export.rows == 0 then
    export.transcript:rows(export.next_row, ROWS, function(rows, err)
      if not is_wanted(export) then
        return
      elseif not rows then
        return fail(export, err)
      elseif #rows == 0 then
        return finish(export)
      end
      export.next_row = export.next_row + #rows
      export.rows = rows
      step(export)
    end)
    return
  end
  local ids = next_batch(export)
  if #ids == 0 then
    return step(export)
  end
  export.transcript:messages(ids, MAX_TEXT, function(messages, err)
    if not is_wanted(export) then
      return
    elseif not messages then
      return fail(export, err)
    end
    write(export, messages)
  end)
end

---Makes the document and shows it.
---@param summary claude-ide.sessions.Summary
function M.open(summary)
  local started, request = false, require("claude-ide.ui.attention").ask()
  local export ---@type claude-ide.sessions.Export?
  ---Begins once all of the file is known: of a huge one the end is known first.
  local function begin()
    if not started and export and export.transcript:info().complete then
      started = true
      step(export)
    end
  end
  require("claude-ide.sessions").open(summary.file, function(transcript, err)
    if export then
      return fail(export, err) -- it broke later
    elseif not transcript then
      require("claude-ide.ui.notice").error("The session cannot be exported: " .. (err or "unknown reason"))
      return
    end
    export = {
      summary = summary,
      buf = require("claude-ide.ui.own_buffer").create({
        scratch = false,
        bo = { undolevels = -1, swapfile = false },
      }),
      transcript = transcript,
      rows = {},
      next_row = 0,
      bytes = 0,
      head = 1,
      request = request,
    }
    write_head(export)
    begin()
  end, begin)
end

return M
