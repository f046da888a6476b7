-- Exports a session as Markdown into a new, named buffer, which the user may write. The library renders it
-- (`crates/session/src/render/markdown.rs`) in pieces, so that it never blocks Neovim.

local lazy = require("claude-ide.lazy")
local file_window = lazy("claude-ide.ui.file_window")
local guard = lazy("claude-ide.ui.guard")
local notice = lazy("claude-ide.base.notice")
local one_line = lazy("claude-ide.base.one_line")
local own_buffer = lazy("claude-ide.ui.own_buffer")
local phrases = lazy("claude-ide.sessions.phrases")
local sessions = lazy("claude-ide.sessions")

local M = {}

---Larger buffers get no filetype: highlighting would block Neovim.
local MAX_HIGHLIGHTED = 2 * 1024 * 1024
---Time before a notice reports progress.
local PATIENCE_MS = 1000

---@class claude-ide.sessions.Export
---@field summary claude-ide.sessions.Summary
---@field buf integer
---@field transcript claude-ide.sessions.Transcript
---@field cursor? claude-ide.sessions.ExportCursor
---@field head string[] lines above the first message
---@field bytes integer size so far
---@field reported_at? number time of the last progress notice
---@field request claude-ide.ui.guard.Request

---A file name that any file system accepts.
---@param summary claude-ide.sessions.Summary
---@return string
local function file_name(summary)
  local title = phrases.title(summary):gsub('[/\\:*?"<>|%%#]', " "):gsub("^[%s.]+", "")
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
---@return boolean goes_on false: the user has wiped out the buffer
local function is_wanted(export)
  local wanted = vim.api.nvim_buf_is_loaded(export.buf)
  if not wanted then
    export.transcript:close()
  end
  return wanted
end

---@param export claude-ide.sessions.Export
local function show(export)
  local buf = export.buf
  if not vim.api.nvim_buf_is_loaded(buf) then
    return
  end
  vim.api.nvim_buf_set_lines(buf, 0, 1, false, export.head)
  if vim.api.nvim_buf_get_lines(buf, -2, -1, false)[1] == "" then
    vim.api.nvim_buf_set_lines(buf, -2, -1, false, {})
  end
  vim.api.nvim_buf_set_name(buf, file_name(export.summary))
  vim.bo[buf].undolevels = vim.go.undolevels
  vim.bo[buf].buflisted = true
  vim.bo[buf].modified = true
  local win, focused = file_window.show(buf, export.request)
  if export.bytes <= MAX_HIGHLIGHTED then
    vim.bo[buf].filetype = "markdown"
  end
  local name = vim.fn.fnamemodify(vim.api.nvim_buf_get_name(buf), ":t")
  local where = win and focused and "`:w` writes it." or "It is in the buffer list; `:w` saves it."
  notice.info(one_line.fitting({
    ("Exported as %s. %s"):format(name, where),
    "Exported. " .. where,
  }))
end

---@param export claude-ide.sessions.Export
local function finish(export)
  export.transcript:close()
  guard.when_no_key("export " .. export.buf, function()
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
  notice.error("The session cannot be exported: " .. (err or "unknown reason"))
end

---@param export claude-ide.sessions.Export
local function tell_progress(export)
  local now = vim.uv.now()
  export.reported_at = export.reported_at or now
  if now - export.reported_at > PATIENCE_MS then
    export.reported_at = now
    local total = math.max(export.transcript:info().len, 1)
    local share = math.floor(100 * (export.cursor and export.cursor.next or 0) / total)
    notice.info(("Exporting: %d %%"):format(share))
  end
end

---@param export claude-ide.sessions.Export
local function step(export)
  export.transcript:markdown(export.summary, export.cursor, function(piece, err)
    if not is_wanted(export) then
      return
    elseif not piece then
      return fail(export, err)
    end
    local is_over = piece.cursor.next == (export.cursor or { next = 0 }).next
    export.cursor, export.head = piece.cursor, piece.head
    if is_over then
      return finish(export)
    end
    append(export, piece.lines)
    tell_progress(export)
    step(export)
  end)
end

---@param summary claude-ide.sessions.Summary
function M.open(summary)
  local started, request = false, guard.request()
  local export ---@type claude-ide.sessions.Export?
  ---Starts once the whole file is read; of a huge one the end is read first.
  local function begin()
    if not started and export and export.transcript:info().complete then
      started = true
      step(export)
    end
  end
  sessions.open(summary.file, function(transcript, err)
    if export then
      return fail(export, err) -- a later error
    elseif not transcript then
      notice.error("The session cannot be exported: " .. (err or "unknown reason"))
      return
    end
    export = {
      summary = summary,
      buf = own_buffer.create({
        scratch = false,
        bo = { undolevels = -1, swapfile = false },
      }),
      transcript = transcript,
      bytes = 0,
      head = {},
      request = request,
    }
    begin()
  end, begin)
end

return M
