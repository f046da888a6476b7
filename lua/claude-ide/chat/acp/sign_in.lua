-- An agent wants the user to sign in: says what there is to do, and does what can be done from here.
local M = {}

---@param chat claude-ide.chat.Chat
---@param method table
---@return string[]? argv of a program that signs in, in a terminal
local function program_of(chat, method)
  if method.type ~= "terminal" then
    return nil
  end
  return vim.list_extend(vim.deepcopy(chat.acp.agent.cmd), type(method.args) == "table" and method.args or {})
end

---@param chat claude-ide.chat.Chat
---@param method table
---@return string
local function line_of(chat, method)
  local argv = program_of(chat, method)
  local about = type(method.description) == "string" and ": " .. method.description or ""
  local run = argv and (" (runs `%s`)"):format(table.concat(argv, " ")) or ""
  return tostring(method.name or method.id) .. about .. run
end

---@param chat claude-ide.chat.Chat
---@param argv string[]
---@param env? table<string, string>
local function run_in_terminal(chat, argv, env)
  require("claude-ide.chat.acp.terminals").show_program(argv, {
    cwd = chat.cwd,
    env = vim.tbl_extend("force", chat.acp.agent.env or {}, type(env) == "table" and env or {}),
    title = "sign in",
    on_exit = function(code)
      if code == 0 then
        chat:restart()
      end
    end,
  })
end

---Whether a method takes a key in its request, as Gemini's and Codex's do: the protocol has no field for it.
---@param method table
---@return boolean
local function wants_key(method)
  return type(method._meta) == "table" and type(method._meta["api-key"]) == "table"
end

---@param chat claude-ide.chat.Chat
---@param fields table
local function authenticate(chat, fields)
  chat.acp.signing_in = fields
  chat:ask("authenticate", fields, function(_, err)
    if err then
      chat.store:put("notice", ("%s could not sign in: %s."):format(chat.name, err))
    elseif chat.state ~= "starting" then
      chat.acp.signed_in = fields
      chat.store:put("notice", ("%s is signed in."):format(chat.name))
      chat:redraw()
    end
  end)
end

---@param chat claude-ide.chat.Chat
---@param method table
local function sign_in(chat, method)
  local argv = program_of(chat, method)
  if argv then
    return run_in_terminal(chat, argv, method.env)
  end
  local fields = { methodId = method.id }
  if wants_key(method) then
    local ok, key = pcall(vim.fn.inputsecret, ("API key, for %s alone: "):format(chat.name))
    if not ok or vim.trim(key) == "" then
      return require("claude-ide.ui.notice").info(("Not signed in to %s."):format(chat.name))
    end
    fields._meta = { ["api-key"] = vim.trim(key) }
  end
  authenticate(chat, fields)
end

---@param chat claude-ide.chat.Chat
---@param about { methods?: table[], text?: string }
function M.ask(chat, about)
  local acp = chat.acp --[[@as claude-ide.chat.acp.State]]
  for _, prompt in ipairs(chat.give_back and chat.unanswered or {}) do
    chat.give_back(prompt.text) -- to be sent again
  end
  chat.unanswered = {}
  local before = acp.signed_in
  if before then
    -- It was started anew. What let it in before is tried once.
    acp.signed_in = nil
    return authenticate(chat, before)
  end
  local methods = vim.tbl_filter(function(method)
    return type(method) == "table" and type(method.id) == "string"
  end, type(about.methods) == "table" and about.methods or {})
  local lines = { ("%s wants you to sign in: %s."):format(chat.name, (about.text or "it did not say why")) }
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
  require("claude-ide.ui.guard").when_free("sign in " .. chat.number, "a question", function()
    if chat.closing then
      return -- while somebody typed elsewhere
    end
    require("claude-ide.ui.choose").select(methods, {
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
  end, ("%s wants you to sign in"):format(chat.name))
end

return M
