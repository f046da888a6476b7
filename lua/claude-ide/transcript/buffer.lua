-- The buffer and the windows of a transcript: what they are set to.

local M = {}

---What a transcript's buffer is made with, and has again after `:edit` and `:bdelete`.
---@type claude-ide.ui.own_buffer.Opts
M.OPTS = {
  kind = "transcript",
  is_private = true,
  bo = { undolevels = -1, tabstop = 4, modifiable = false, filetype = "claude-transcript" },
}

---Cells of a title in the name.
local MAX_TITLE = 60

---Names the buffer as its transcript is called by now.
---@param view claude-ide.transcript.View
function M.name(view)
  local source, words = view.source, require("claude-ide.sessions.phrases")
  local title = source.is_agent and source.id
    or view.name and words.fit(words.one_line(view.name), MAX_TITLE)
    or source.noun
    or not source.is_chat and "transcript"
    or nil
  require("claude-ide.ui.ours").name_conversation(view.buf, source.speaker or "Claude", source.session, title)
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
