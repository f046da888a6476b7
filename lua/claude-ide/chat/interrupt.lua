-- The key that interrupts a chat, in its buffers and in the windows of its requests.
local lazy = require("claude-ide.lazy")
local config = lazy("claude-ide.config")
local interrupt_key = lazy("claude-ide.ui.interrupt_key")
local key_list = lazy("claude-ide.ui.key_list")
local notice = lazy("claude-ide.base.notice")
local safely = lazy("claude-ide.base.safely")

local M = {}

---The action of the interrupt key; nil if no turn is running or starting.
---@param chat claude-ide.chat.Chat
---@return fun()? act
local function interrupt(chat)
  if chat:is_busy() then
    return function()
      chat:interrupt()
    end
  elseif chat.state == "starting" and #chat.queue > 0 then
    return function()
      local words = "%s is starting. `:Claude chat restart` returns your prompts."
      notice.info(words:format(chat.name))
    end
  end
end

---Maps the interrupt key in a buffer of a chat; without a turn, it keeps its usual meaning.
---@param chat claude-ide.chat.Chat
---@param buf integer its prompt or its transcript
---@param modes string[]
function M.map(chat, buf, modes)
  local keys = key_list.keys(config.get().chat.keymaps.interrupt)
  for _, lhs in ipairs(keys) do
    vim.keymap.set(modes, lhs, function()
      local act = interrupt(chat)
      if act then
        safely.wrap("interrupt", act)()
      else
        vim.api.nvim_feedkeys(vim.keycode(lhs), "n", false)
      end
    end, { buffer = buf, nowait = true, silent = true, desc = "Claude Code: interrupt" })
  end
  if vim.iter(keys):any(interrupt_key.is) then
    interrupt_key.on(buf, function()
      return interrupt(chat)
    end)
  end
end

return M
