-- What a transcript is called, as far as its source knows.

local M = {}

---Asks for the title, until it is known.
---@param view claude-ide.transcript.View
function M.learn(view)
  local id = view.source.id
  if view.named == id or view.closed then
    return
  elseif view.named then
    -- The chat has begun anew, in another session.
    view.title, view.name = view.source.title, nil
    require("claude-ide.transcript.buffer").name(view)
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
  view.named = nil
  M.learn(view)
end

return M
