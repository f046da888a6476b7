-- A text that is cut: all of it, in a window of its own.

---@type claude-ide.transcript.TargetKind
local M = {}

---No longer than this.
local MOST = 8 * 1024 * 1024

---@param block claude-ide.sessions.Block
---@param argument? string
---@return string
local function text_of(block, argument)
  if argument then
    local value = type(block.input) == "table" and block.input[argument]
    return type(value) == "string" and value or vim.json.encode(value)
  elseif block.text then
    return block.text
  end
  local texts = {}
  for _, part in ipairs(block.result and block.result.content or {}) do
    texts[#texts + 1] = part.type == "text" and part.text or nil
  end
  return table.concat(texts, "\n")
end

---@param block claude-ide.sessions.Block
---@param argument? string
local function show_text(block, argument)
  local text = require("claude-ide.transcript.text").head(text_of(block, argument), MOST)
  -- An argument is shown as the agent has it, to the byte.
  local lines = argument and vim.split(text, "\n", { plain = true })
    or require("claude-ide.transcript.text").lines(text)
  local buf = require("claude-ide.ui.own_buffer").create({
    kind = "text",
    name = { "Claude", "text" },
    lines = lines,
    is_private = true,
    bo = { bufhidden = "wipe", modifiable = false },
  })
  vim.cmd("belowright sbuffer " .. buf)
  vim.keymap.set(
    "n",
    "q",
    "<Cmd>close<CR>",
    { buffer = buf, nowait = true, desc = "Claude Code: close the text" }
  )
end

function M.enter(view, target)
  local source, id, at = view.source, target.message, target.block
  for _, agent in pairs(view.agents) do
    if agent.source and agent.source.key == target.source then
      source = agent.source
    end
  end
  if not id or not at then
    return
  end
  local attention = require("claude-ide.ui.attention")
  local request = attention.ask()
  source:messages({ id }, MOST, function(messages, err)
    local block = messages and messages[1] and messages[1].blocks[at]
    if block then
      -- What is typed by now is meant for something else.
      attention.when_asked(
        ("text %s %d %d"):format(source.key, id, at),
        "A text of a conversation",
        function()
          show_text(block, target.argument)
        end,
        request
      )
    else
      require("claude-ide.ui.notice").error("This text cannot be read: " .. (err or "it is gone"))
    end
  end)
end

return M
