-- The winbar of a chat's prompt: queued prompts, pending requests, keys.
local lazy = require("claude-ide.lazy")
local asks = lazy("claude-ide.chat.asks")
local config = lazy("claude-ide.config")
local facts = lazy("claude-ide.chat.facts")
local open_prompts = lazy("claude-ide.chat.open_prompts")
local phrases = lazy("claude-ide.sessions.phrases")
local winbar_text = lazy("claude-ide.ui.winbar_text")

local M = {}

local RANKS = { help = 1, send = 2, state = 3 }

---@param chat claude-ide.chat.Chat
---@return string text
---@return string group
local function state_of(chat)
  local asked = asks.count(chat)
  local waiting = chat:waiting()
  if asked > 0 then
    return asked == 1 and chat.name .. " asks you something" or ("%s asks you %d things"):format(
      chat.name,
      asked
    ),
      "ClaudeTranscriptWaiting"
  elseif chat.state == "ended" then
    return "ended; what you send starts it again", "ClaudeTranscriptFailed"
  elseif chat.retry then
    return facts.retry(chat.retry), "ClaudeTranscriptFailed"
  elseif chat.doing then
    return ("%s is %s"):format(chat.name, chat.doing), "ClaudeTranscriptWorking"
  elseif #waiting > 0 then
    local first = phrases.fit(phrases.one_line(waiting[1].text), 30)
    local text = #waiting == 1 and ("next: %s"):format(first) or ("%d wait, next: %s"):format(#waiting, first)
    return text, "ClaudeTranscriptWaiting"
  elseif chat:is_busy() then
    return chat.name .. " works", "ClaudeTranscriptWorking"
  end
  return "Prompt", "ClaudeTranscriptTitle"
end

---@param buf integer
local function is_empty(buf)
  return vim.api.nvim_buf_line_count(buf) == 1 and vim.api.nvim_buf_get_lines(buf, 0, 1, false)[1] == ""
end

---@param chat claude-ide.chat.Chat
---@param win integer
---@return string
local function of(chat, win)
  local keys = config.get().chat.keymaps
  local state, group = state_of(chat)
  local pieces = { winbar_text.name(RANKS.state, group, state) }
  local function hint(rank, option, words)
    pieces[#pieces + 1] = winbar_text.hint(rank, option, words, { group = "ClaudeTranscript" })
  end
  local is_asked = asks.count(chat) > 0
  if is_asked and is_empty(vim.api.nvim_win_get_buf(win)) then
    hint(RANKS.send, vim.fn.mode():find("^i") and keys.send_at_once or keys.send, "show it")
  elseif chat:is_busy() then
    hint(RANKS.send, keys.interrupt, "interrupt")
  else
    hint(RANKS.send, vim.fn.mode():find("^i") and keys.send_at_once or keys.send, "send")
  end
  hint(RANKS.help, keys.help, "keys")
  return winbar_text.winbar(pieces, vim.api.nvim_win_get_width(win))
end

---'winbar' of a prompt's window.
---@return string
function M.text()
  local win = vim.g.statusline_winid or vim.api.nvim_get_current_win()
  local prompt = open_prompts.of(vim.api.nvim_win_get_buf(win))
  local ok, text = pcall(function()
    return prompt and of(prompt.chat, win) or ""
  end)
  return ok and text --[[@as string]] or ""
end

return M
