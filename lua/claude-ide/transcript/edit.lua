-- Shows what a tool call of a transcript changed: the file before and after it.
local lazy = require("claude-ide.lazy")
local guard = lazy("claude-ide.ui.guard")
local notice = lazy("claude-ide.base.notice")
local two_texts = lazy("claude-ide.ui.diffview.two_texts")

local M = {}

local SAYS = { before = "before this edit", after = "after this edit", back = "the transcript" }

---Shows what a tool call changed.
---@param source claude-ide.transcript.Source that has the call
---@param tool_id string
function M.open(source, tool_id)
  local request = guard.request()
  source:edit_texts(tool_id, function(texts, err)
    if texts then
      -- Keys typed since the request are not meant for it.
      guard.when_requested("edit " .. tool_id, "An edit of a session", function()
        two_texts.show({ path = texts.path, before = texts.before, after = texts.after, says = SAYS })
      end, request)
    elseif err then
      notice.error("This edit cannot be shown: " .. err)
    else
      notice.info("The session did not record the file before and after this call.")
    end
  end)
end

return M
