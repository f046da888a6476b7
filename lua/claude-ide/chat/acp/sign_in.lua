-- Sign-in to an agent: lists the methods, and runs the chosen one.
local lazy = require("claude-ide.lazy")
local choose = lazy("claude-ide.ui.choose")
local guard = lazy("claude-ide.ui.guard")
local notice = lazy("claude-ide.base.notice")
local terminals = lazy("claude-ide.chat.acp.terminals")

local M = {}

---@class claude-ide.chat.SignInMethod
---@field id string
---@field name string
---@field description? string
---@field args? string[] runs the agent's program with these arguments in a terminal
---@field env? table<string, string> of that program
---@field takes_key boolean the user types a key

---@param chat claude-ide.chat.Chat
---@param method claude-ide.chat.SignInMethod
---@return string[]? argv of a program that signs in, in a terminal
local function program_of(chat, method)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  return method.args and vim.list_extend(vim.deepcopy(acp.agent.cmd), method.args) or nil
end

---@param chat claude-ide.chat.Chat
---@param method claude-ide.chat.SignInMethod
---@return string
local function line_of(chat, method)
  local argv = program_of(chat, method)
  local about = method.description and ": " .. method.description or ""
  local run = argv and (" (runs `%s`)"):format(table.concat(argv, " ")) or ""
  return method.name .. about .. run
end

---@param chat claude-ide.chat.Chat
---@param fields { method: string, key?: string }
local function authenticate(chat, fields)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  acp.signing_in = fields
  chat:ask("sign_in", fields, function(_, err)
    if err then
      chat.store:put("notice", ("%s could not sign in: %s."):format(chat.name, err))
    elseif chat.state ~= "starting" then
      acp.signed_in = fields
      chat.store:put("notice", ("%s is signed in."):format(chat.name))
      chat.on_change()
    end
  end)
end

---@param chat claude-ide.chat.Chat
---@param method claude-ide.chat.SignInMethod
local function sign_in(chat, method)
  local argv, acp = program_of(chat, method), chat.acp --[[@as claude-ide.chat.acp.State]]
  if argv then
    return terminals.show_program(argv, {
      cwd = chat.cwd,
      env = vim.tbl_extend("force", acp.agent.env or {}, method.env or {}),
      title = "sign in",
      on_exit = function(code)
        if code == 0 then
          chat:restart()
        end
      end,
    })
  end
  local key ---@type string?
  if method.takes_key then
    local ok, typed = pcall(vim.fn.inputsecret, ("API key, for %s alone: "):format(chat.name))
    if not ok or vim.trim(typed) == "" then
      return notice.info(("Not signed in to %s."):format(chat.name))
    end
    key = vim.trim(typed)
  end
  authenticate(chat, { method = method.id, key = key })
end

---@param chat claude-ide.chat.Chat
---@param reason string
---@param methods claude-ide.chat.SignInMethod[]
function M.ask(chat, reason, methods)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  local give_back = chat.give_back -- to be sent again
  for _, prompt in ipairs(chat.unanswered) do
    if give_back then
      give_back(prompt.text)
    end
  end
  chat.unanswered = {}
  local before = acp.signed_in
  if before then
    -- The agent was restarted: the earlier sign-in is tried once.
    acp.signed_in = nil
    return authenticate(chat, before)
  end
  local lines = { ("%s requires a sign-in: %s."):format(chat.name, reason) }
  if not acp.signing_in then
    for _, method in ipairs(methods) do
      lines[#lines + 1] = "- " .. line_of(chat, method)
    end
    lines[#lines + 1] = ("Or sign in by its own program in a terminal (`%s`), then `:Claude chat restart`."):format(
      (table.concat(acp.agent.cmd, " "):gsub(" %-%-acp$", ""))
    )
  end
  chat.store:put("notice", table.concat(lines, "\n"))
  if #methods == 0 then
    return
  end
  guard.when_idle("sign in " .. chat.number, "a question", function()
    if chat.closing then
      return -- closed while the user typed
    end
    choose.select(methods, {
      prompt = ("Sign in to %s"):format(chat.name),
      is_unasked = true,
      format_item = function(method)
        return line_of(chat, method)
      end,
    }, function(method)
      if method then
        sign_in(chat, method)
      end
    end)
  end, ("%s requires a sign-in"):format(chat.name))
end

return M
