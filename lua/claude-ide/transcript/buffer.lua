-- Name and options of a transcript's buffer and windows.

local lazy = require("claude-ide.lazy")
local buffer_marks = lazy("claude-ide.ui.buffer_marks")
local loader = lazy("claude-ide.transcript.loader")
local phrases = lazy("claude-ide.sessions.phrases")
local transcript_winbar = lazy("claude-ide.transcript.winbar")
local ui_winbar = lazy("claude-ide.ui.winbar")
local window_options = lazy("claude-ide.ui.window_options")

local M = {}

---Options of the buffer, also after `:edit` and `:bdelete`.
---@type claude-ide.ui.own_buffer.Opts
M.OPTS = {
  kind = "transcript",
  is_private = true,
  bo = { undolevels = -1, tabstop = 4, modifiable = false, filetype = "claude-transcript" },
}

---Maximum width of a title in the buffer's name.
local MAX_TITLE = 60

---Names the buffer after the transcript's current title.
---@param view claude-ide.transcript.View
function M.name(view)
  local source = view.source
  local title = source.is_agent and source.id
    or view.name and phrases.fit(phrases.one_line(view.name), MAX_TITLE)
    or source.noun
    or not source.is_chat and "transcript"
    or nil
  buffer_marks.name_conversation(view.buf, source.speaker or "Claude", source.session, title)
end

---@param win integer
function M.set_window_options(win)
  local wo = window_options.bare(win)
  wo.wrap, wo.linebreak, wo.breakindent, wo.spell, wo.cursorline = true, true, true, false, false
  wo.conceallevel, wo.concealcursor = 2, "" -- the cursor line shows the text as it is yanked
  wo.foldmethod, wo.foldenable, wo.foldminlines = "manual", true, 0
  wo.foldtext = "v:lua.require'claude-ide.transcript.fold'.text()"
  wo.fillchars = "fold: ,eob: "
  wo.winhighlight = "Folded:ClaudeTranscriptFold"
  ui_winbar.hold(win, "%{%v:lua.require'claude-ide.transcript.winbar'.text()%}")
end

---Requests the title, once per session id.
---@param view claude-ide.transcript.View
function M.learn_title(view)
  local id = view.source.id
  if view.named == id or view.closed then
    return
  elseif view.named then
    -- The chat continued in another session.
    view.title, view.name = view.source.title, nil
    M.name(view)
  end
  view.named = id
  view.source:describe(function(about)
    if view.named ~= id or view.closed then
      return
    elseif not about then
      view.named = nil
      return
    end
    view.title, view.name = about.title, about.name or about.title
    M.name(view)
    if about.cwd and view.cwd ~= about.cwd then
      view.cwd = about.cwd
      view.canvas:mark_all_stale() -- paths are shown relative to it
      loader.update(view)
    end
    transcript_winbar.refresh(view)
  end)
end

---Requests the title again: the session may have been renamed.
---@param view claude-ide.transcript.View
function M.learn_title_again(view)
  view.named = nil
  M.learn_title(view)
end

return M
