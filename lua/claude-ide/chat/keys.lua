-- The keys of a chat's prompt, listed.
local M = {}

---@type { [1]: string, [2]: string, only?: "cli"|"claude" }[] option, what it does, and with whom
local DOCS = {
  { "send", "send the prompt (normal mode)" },
  { "send_at_once", "send it, in insert mode too" },
  { "interrupt", "interrupt %s" },
  { "older", "the prompt before, from the history" },
  { "newer", "the next one" },
  { "take_back", "take back the prompt that waits" },
  { "mode", "next permission mode" },
  { "model", "choose a model" },
  { "effort", "choose how much effort it takes" },
  { "rewind", "restore files as they were before a prompt", only = "cli" },
  { "tasks", "stop what runs in the background", only = "cli" },
  { "terminal", "go on in the terminal", only = "claude" },
  { "preview", "what the #… at the cursor would send" },
  { "close", "hide the chat; it goes on" },
  { "help", "this help" },
}

---@param chat claude-ide.chat.Chat
function M.help(chat)
  local can = { cli = not chat.acp, claude = not chat.acp or chat.acp.agent.key == "claude" }
  local keys = require("claude-ide.config").get().chat.keymaps
  local key_list, entries = require("claude-ide.ui.key_list"), {}
  for _, doc in ipairs(DOCS) do
    if not doc.only or can[doc.only] then
      entries[#entries + 1] = key_list.entry(keys[doc[1]], doc[2]:format(chat.name))
    end
  end
  vim.list_extend(entries, {
    { "/ @ #", "complete commands, files, what the editor has" },
    { "account", chat.account and chat.account.full or "is not known yet" },
  })
  key_list.open(entries, { of = "a prompt", group = "ClaudeTranscriptKey", help = keys.help })
end

return M
