-- The buffer and the windows of a transcript: what they are set to.

local M = {}

---@param buf integer
function M.prepare(buf)
  local bo = vim.bo[buf]
  bo.buftype, bo.bufhidden, bo.swapfile = "nofile", "hide", false
  bo.undolevels, bo.modeline, bo.modifiable = -1, false, false
  bo.tabstop = 4
  bo.filetype = "claude-transcript"
  require("claude-ide.ui.ours").mark(buf, "transcript")
  vim.b[buf].claude_private = true -- what is selected here is no news for Claude
end

local PREFIX = "claude://transcript/"
---Cells of a title in the name.
local MAX_TITLE = 60

---The name of a transcript's buffer. A list of buffers shows its end: the title.
---@param view claude-ide.transcript.View
---@return string
local function name_of(view)
  local parts = { view.session }
  if view.id ~= view.session then
    parts[2] = view.id
  end
  local words = require("claude-ide.sessions.phrases")
  local title = view.name and words.fit(words.one_line(view.name), MAX_TITLE):gsub("[/%c]", " ")
  parts[#parts + 1] = title and vim.trim(title) or nil
  return PREFIX .. table.concat(parts, "/")
end

---The session, and perhaps its subagent, that the name of a buffer tells.
---@param name string
---@return string? session
---@return string? agent as its file is called, "agent-…"
function M.parse(name)
  local session, rest = name:match("^claude://transcript/([^/#]+)(.*)$")
  return session, rest and rest:match("^/(agent%-[%w_-]+)")
end

---Names the buffer as its transcript is called by now.
---@param view claude-ide.transcript.View
function M.name(view)
  local before, name = vim.api.nvim_buf_get_name(view.buf), name_of(view)
  if before == name or vim.startswith(before, name .. "#") then
    return
  end
  require("claude-ide.option").during("eventignore", "all", function()
    if not pcall(vim.api.nvim_buf_set_name, view.buf, name) then
      -- Another file has the same name: a copy of the session elsewhere.
      pcall(vim.api.nvim_buf_set_name, view.buf, ("%s#%d"):format(name, view.buf))
    end
    -- Neovim keeps a buffer of the name before.
    local old = before ~= "" and vim.fn.bufnr("^" .. vim.fn.escape(before, "*?[]{},\\") .. "$") or -1
    if old > 0 and old ~= view.buf and vim.api.nvim_buf_get_name(old) == before then
      pcall(vim.api.nvim_buf_delete, old, { force = true })
    end
  end)
end

---@param win integer
function M.dress(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.breakindent = true, true, true
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.list, wo.spell, wo.cursorline, wo.colorcolumn = false, false, false, ""
  wo.statuscolumn = ""
  wo.conceallevel, wo.concealcursor = 2, "" -- the line of the cursor shows what is yanked
  wo.foldmethod, wo.foldenable, wo.foldminlines = "manual", true, 0
  wo.foldtext = "v:lua.require'claude-ide.transcript.fold'.text()"
  wo.fillchars = "fold: ,eob: "
  wo.winhighlight = "Folded:ClaudeTranscriptFold"
  require("claude-ide.ui.winbar").hold(win, "%{%v:lua.require'claude-ide.transcript.winbar'.text()%}")
end

return M
