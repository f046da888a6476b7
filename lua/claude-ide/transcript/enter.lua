-- Enter in a transcript: what the line under the cursor offers.

local M = {}

---Texts shown in a window of their own are no longer than this.
local MOST = 8 * 1024 * 1024

---@param block claude-ide.sessions.Block
---@return string
local function text_of(block)
  if block.text then
    return block.text
  end
  local texts = {}
  for _, part in ipairs(block.result and block.result.content or {}) do
    texts[#texts + 1] = part.type == "text" and part.text or nil
  end
  return table.concat(texts, "\n")
end

---@param block claude-ide.sessions.Block
local function show_text(block)
  local lines = require("claude-ide.transcript.text").lines(text_of(block))
  local buf = vim.api.nvim_create_buf(false, true)
  vim.bo[buf].bufhidden = "wipe"
  vim.b[buf].claude_private = true
  vim.api.nvim_buf_set_lines(buf, 0, -1, false, lines)
  vim.bo[buf].modifiable = false
  vim.cmd("belowright sbuffer " .. buf)
  vim.keymap.set(
    "n",
    "q",
    "<Cmd>close<CR>",
    { buffer = buf, nowait = true, desc = "Claude Code: close the text" }
  )
end

---@param view claude-ide.transcript.View
---@param target claude-ide.transcript.Target
local function more(view, target)
  local transcript, id, at = view.transcript, target.message, target.block
  for _, agent in pairs(view.agents) do
    if agent.agent and agent.agent.file == target.source then
      transcript = agent.transcript
    end
  end
  if not transcript or not id or not at then
    return
  end
  transcript:messages({ id }, MOST, function(messages, err)
    local block = messages and messages[1] and messages[1].blocks[at]
    if block then
      show_text(block)
    else
      require("claude-ide.ui.notice").error("This text cannot be read: " .. (err or "it is gone"))
    end
  end)
end

---The transcript that an edit is in: the session's, or that of a subagent.
---@param view claude-ide.transcript.View
---@param tool_id string
---@return claude-ide.sessions.Transcript?
local function owner_of(view, tool_id)
  for _, agent in pairs(view.agents) do
    for _, message in ipairs(agent.transcript and agent.messages or {}) do
      for _, block in ipairs(message.blocks) do
        if block.id == tool_id then
          return agent.transcript
        end
      end
    end
  end
  return view.transcript
end

---@param view claude-ide.transcript.View
function M.press(view)
  local spot, item = view.canvas:spot(vim.api.nvim_win_get_cursor(0)[1])
  if not item and view.went_on and require("claude-ide.transcript.viewport").is_at_end(0) then
    local win = vim.api.nvim_get_current_win()
    require("claude-ide.hub").tell("transcript_wanted", { id = view.went_on }, { win = win })
    return
  end
  local target = item and item.targets[spot.offset]
  local tool_id = target and target.tool_id
  if target and target.type == "edit" and tool_id then
    require("claude-ide.transcript.edit").open(view, tool_id, owner_of(view, tool_id))
  elseif target and target.type == "agent" and tool_id then
    require("claude-ide.transcript.agents").toggle(view, tool_id)
  elseif target and target.type == "more" then
    more(view, target)
  elseif target and target.type == "branch" then
    require("claude-ide.transcript.branch").choose(view)
  elseif vim.fn.foldlevel(".") > 0 then
    vim.cmd("normal! za")
  end
end

return M
