-- The buffer and the windows of a transcript: what they are set to.

local M = {}

---@param buf integer
function M.prepare(buf)
  local bo = vim.bo[buf]
  bo.buftype, bo.bufhidden, bo.swapfile = "nofile", "hide", false
  bo.undolevels, bo.modeline, bo.modifiable = -1, false, false
  bo.tabstop = 4
  bo.filetype = "claude-transcript"
  vim.b[buf].claude_private = true -- what is selected here is no news for Claude
end

---@param id string
---@return integer buf
function M.make(id)
  local buf = vim.api.nvim_create_buf(false, true)
  local name = "claude://transcript/" .. id
  if not pcall(vim.api.nvim_buf_set_name, buf, name) then
    -- Another file has the same name: a subagent of another session.
    vim.api.nvim_buf_set_name(buf, ("%s#%d"):format(name, buf))
  end
  M.prepare(buf)
  return buf
end

---@param win integer
function M.dress(win)
  local wo = vim.wo[win][0]
  wo.wrap, wo.linebreak, wo.breakindent = true, true, true
  wo.number, wo.relativenumber, wo.signcolumn, wo.foldcolumn = false, false, "no", "0"
  wo.list, wo.spell, wo.cursorline, wo.colorcolumn = false, false, false, ""
  wo.statuscolumn = ""
  wo.conceallevel, wo.concealcursor = 2, "nc"
  wo.foldmethod, wo.foldenable, wo.foldminlines = "manual", true, 0
  wo.foldtext = "v:lua.require'claude-ide.transcript.fold'.text()"
  wo.fillchars = "fold: ,eob: "
  wo.winhighlight = "Folded:ClaudeTranscriptFold"
  wo.winbar = "%{%v:lua.require'claude-ide.transcript.winbar'.text()%}"
end

return M
