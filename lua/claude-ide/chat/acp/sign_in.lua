-- An agent wants the person to sign in: says what there is to do, and does what can be done from here.
local M = {}

---@param chat claude-ide.chat.Chat
---@param method table
---@return string[]? argv of a program that signs in, in a terminal
local function program_of(chat, method)
  if method.type ~= "terminal" then
    return nil
  end
  return vim.list_extend(vim.deepcopy(chat.acp.agent.cmd), method.args or {})
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
    env = vim.tbl_extend("force", chat.acp.agent.env or {}, env or {}),
    title = "sign in",
    on_exit = function(code)
      if code == 0 then
        chat:restart()
      end
    end,
  })
end

---@param chat claude-ide.chat.Chat
---@param method table
local function sign_in(chat, method)
  local argv = program_of(chat, method)
  if argv then
    return run_in_terminal(chat, argv, method.env)
  end
  chat:ask("authenticate", { methodId = method.id }, function(_, err)
    if err then
      chat.store:put("notice", ("%s could not sign in: %s."):format(chat.name, err))
    end
  end)
end

---@param chat claude-ide.chat.Chat
---@param about { methods?: table[], text?: string }
function M.ask(chat, about)
  local methods = type(about.methods) == "table" and about.methods or {}
  local lines = { ("%s wants you to sign in: %s."):format(chat.name, (about.text or "it did not say why")) }
  for _, method in ipairs(methods) do
    lines[#lines + 1] = "- " .. line_of(chat, method)
  end
  local own = table.concat(chat.acp.agent.cmd, " ")
  lines[#lines + 1] = ("Or sign in by its own program in a terminal (`%s`), then `:Claude chat restart`."):format(
    (own:gsub(" %-%-acp$", ""))
  )
  chat.store:put("notice", table.concat(lines, "\n"))
  if #methods == 0 then
    return
  end
  require("claude-ide.ui.attention").when_free("sign in " .. chat.number, "a question", function()
    require("claude-ide.ui.choose").select(methods, {
      prompt = ("Sign in to %s"):format(chat.name),
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
