-- Branches of a conversation: steps between them, and lets the user choose one.

local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local follow = lazy("claude-ide.transcript.follow")
local guard = lazy("claude-ide.ui.guard")
local motions = lazy("claude-ide.transcript.motions")
local notice = lazy("claude-ide.base.notice")
local phrases = lazy("claude-ide.sessions.phrases")

local M = {}

---@param view claude-ide.transcript.View
---@return integer? row
---@return claude-ide.sessions.Branch?
local function fork_above(view)
  local canvas = view.canvas
  for at = canvas:at(vim.api.nvim_win_get_cursor(0)[1]), canvas.first, -1 do
    local rendered = canvas.rows[at]
    if rendered and rendered.row.branch then
      return at, rendered.row.branch
    end
  end
  return nil
end

---@param view claude-ide.transcript.View
---@param id integer
local function show(view, id)
  local win, source = vim.api.nvim_get_current_win(), view.source
  if not source.show_branch then
    return
  end
  source:show_branch(id, function(delta, err)
    if view.closed then
      return
    elseif not delta then
      notice.error("This branch cannot be shown: " .. (err or "unknown reason"))
      return
    end
    follow.apply(view, delta)
    motions.go_to_message(view, id, win)
  end)
end

---@param view claude-ide.transcript.View
---@param step 1|-1
function M.step(view, step)
  local _, branch = fork_above(view)
  local id = branch and branch.siblings[branch.number + step]
  if id then
    show(view, id)
  elseif branch then
    local edge = step > 0 and "last" or "first"
    notice.info(("This is the %s of %d branches."):format(edge, #branch.siblings))
  else
    notice.info("The session has no fork above the cursor.")
  end
end

---@param message claude-ide.sessions.Message
---@return string
local function beginning(message)
  for _, block in ipairs(message.blocks) do
    local text = block.type == "text" and phrases.plain_line(block.text or "") or ""
    if text ~= "" then
      return text
    elseif block.type == "tool_use" then
      return block.name or ""
    end
  end
  return ""
end

---@param view claude-ide.transcript.View
---@param branch claude-ide.sessions.Branch
---@param messages claude-ide.sessions.Message[] the first message of each branch
local function ask(view, branch, messages)
  choose.select(messages, {
    prompt = "Branches of the session",
    kind = "claude_branch",
    format_item = function(message)
      local here = message.id == branch.siblings[branch.number] and " (shown)" or ""
      local time = message.start and os.date("%Y-%m-%d %H:%M  ", math.floor(message.start / 1000)) or ""
      return phrases.fit(time .. beginning(message), math.max(vim.o.columns - 16, 20)) .. here
    end,
  }, function(message)
    if message and not view.closed then
      show(view, message.id)
    end
  end)
end

---Lets the user choose a branch of the fork at or above the cursor.
---@param view claude-ide.transcript.View
function M.choose(view)
  local _, branch = fork_above(view)
  if not branch then
    notice.info("The session has no fork above the cursor.")
    return
  end
  local request = guard.request()
  view.source:messages(branch.siblings, 400, function(messages, err)
    if not messages then
      notice.error("The branches cannot be read: " .. (err or "unknown reason"))
      return
    end
    -- Keys typed since the request are not meant for the list.
    guard.when_requested("branches " .. view.buf, "The branches of a session", function()
      ask(view, branch, messages)
    end, request)
  end)
end

return M
