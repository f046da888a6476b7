-- What a transcript is called, as far as its source knows.

local M = {}

---Asks for the title, until it is known.
---@param view claude-ide.transcript.View
function M.learn(view)
  if view.named or view.closed then
    return
  end
  view.named = true
  view.source:describe(function(about)
    view.named = about ~= nil
    if not about or view.closed then
      return
    end
    view.title, view.name = about.title, about.title
    require("claude-ide.transcript.buffer").name(view)
    if about.cwd and view.cwd ~= about.cwd then
      view.cwd = about.cwd
      view.canvas:mark_all_stale() -- paths are shown from there
      require("claude-ide.transcript.loader").update(view)
    end
    require("claude-ide.transcript.winbar").refresh(view)
  end)
end

---Its session may have another title now.
---@param view claude-ide.transcript.View
function M.learn_again(view)
  view.named = false
  M.learn(view)
end

return M
