-- What an agent asks in its own words: a method each. Some need the user and become decisions, some the editor answers itself.
-- Invariant: each is answered once, or was taken back by who asked.
local M = {}

---@alias claude-ide.chat.acp.Answer fun(result?: table, code?: "invalid"|"not_found"|"failed", message?: string)
---@alias claude-ide.chat.acp.FilePart { path: string, line?: integer, limit?: integer, most_bytes: integer, missing_is_empty?: boolean }
---@alias claude-ide.chat.acp.GiveFile fun(part: claude-ide.chat.acp.FilePart) the library reads it and answers with that

---Something is to be filled in, or a page to be opened.
---@param chat claude-ide.chat.Chat
---@param params table
---@param answer claude-ide.chat.acp.Answer
---@param id string
---@param _ claude-ide.chat.acp.GiveFile
---@param order? string[] of the fields
local function elicit(chat, params, answer, id, _, order)
  if params.mode ~= "url" and params.mode ~= "form" then
    return answer({ action = "decline" })
  elseif params.mode == "url" and not tostring(params.url):find("^https?://[^/]") then
    return answer(nil, "invalid", "only pages of http and https are opened")
  end
  local ask = {
    display_name = chat.name,
    message = params.message,
    url = params.mode == "url" and params.url or nil,
    requested_schema = params.requestedSchema,
    property_order = order,
  }
  local request = { chat = chat, id = id, ask = ask, params = params } --[[@as claude-ide.chat.acp.Request]]
  local actions = { accepted = "accept", rejected = "decline" }
  request.reply = require("claude-ide.chat.acp.answered").anyway(answer, "a form", function(decided)
    local content = decided and decided.outcome == "accepted" and decided.changes or {} ---@diagnostic disable-line: undefined-field -- of a form
    answer({
      action = decided and actions[decided.outcome] or "cancel",
      content = next(content) ~= nil and content or nil,
    })
  end)
  require("claude-ide.chat.form").ask(request)
end

---@type table<string, fun(chat: claude-ide.chat.Chat, params: table, answer: claude-ide.chat.acp.Answer, id: string, give_file: claude-ide.chat.acp.GiveFile, order?: string[])>
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
  ["elicitation/create"] = elicit,
}

---@param chat claude-ide.chat.Chat
---@param id string names the question
---@param ask { method: string, params: table, property_order?: string[], missing_is_empty?: boolean }
function M.ask(chat, id, ask)
  local is_answered, answer_it = false, chat:answerer()
  local function once(command)
    if not is_answered then
      is_answered = true
      answer_it(command)
    end
  end
  local function answer(result, code, message)
    local reply = { request = id } ---@type table
    if code then
      reply.error = { code = code, message = message or "it failed" }
    else
      reply.result = result and next(result) ~= nil and result or vim.empty_dict()
    end
    once({ reply = reply })
  end
  local function give_file(part)
    once({ reply_with_file = { request = id, file = part } })
  end
  local serve = METHODS[ask.method] or function()
    answer(nil, "failed", "this is not served here")
  end
  local doing = ("%s of %s"):format(ask.method, chat.name)
  require("claude-ide.chat.acp.answered").anyway(answer, doing, serve)(
    chat,
    vim.tbl_extend("force", ask.params or {}, { missing_is_empty = ask.missing_is_empty }),
    answer,
    id,
    give_file,
    ask.property_order
  )
end

return M
