-- What an agent asks in its own words: a method each. Some need the person and become decisions, some the editor answers itself.
-- Invariant: each is answered once, or was taken back by who asked.
local M = {}

---@alias claude-ide.chat.acp.Answer fun(result?: table, code?: "invalid"|"not_found"|"failed", message?: string)

---@type table<string, fun(chat: claude-ide.chat.Chat, params: table, answer: claude-ide.chat.acp.Answer, id: string)>
local METHODS = {
  ["session/request_permission"] = function(...)
    require("claude-ide.chat.acp.permission").ask(...)
  end,
  ["fs/read_text_file"] = function(...)
    require("claude-ide.chat.acp.files").read(...)
  end,
  ["fs/write_text_file"] = function(...)
    require("claude-ide.chat.acp.files").write(...)
  end,
  ["terminal/create"] = function(...)
    require("claude-ide.chat.acp.terminals").create(...)
  end,
  ["terminal/output"] = function(...)
    require("claude-ide.chat.acp.terminals").output(...)
  end,
  ["terminal/wait_for_exit"] = function(...)
    require("claude-ide.chat.acp.terminals").wait_for_exit(...)
  end,
  ["terminal/kill"] = function(...)
    require("claude-ide.chat.acp.terminals").kill(...)
  end,
  ["terminal/release"] = function(...)
    require("claude-ide.chat.acp.terminals").release(...)
  end,
  ["elicitation/create"] = function(...)
    require("claude-ide.chat.acp.form").ask(...)
  end,
}

---@param chat claude-ide.chat.Chat
---@param id string names the question
---@param ask { method: string, params: table }
function M.ask(chat, id, ask)
  local is_answered = false
  local function answer(result, code, message)
    if is_answered then
      return
    end
    is_answered = true
    local reply = { request = id } ---@type table
    if code then
      reply.error = { code = code, message = message or "it failed" }
    else
      reply.result = result and next(result) ~= nil and result or vim.empty_dict()
    end
    chat:answer({ reply = reply })
  end
  require("claude-ide.safely").catch(METHODS[ask.method] or function()
    answer(nil, "failed", "this is not served here")
  end, function(trace)
    require("claude-ide.log").error("%s of %s failed: %s", ask.method, chat.name, trace)
    answer(nil, "failed", "the editor could not do it")
  end)(chat, ask.params or {}, answer, id)
end

return M
