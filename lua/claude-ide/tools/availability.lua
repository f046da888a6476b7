-- Reports to the server which conditional tools are available, since it lists only those, and the resources and prompts (offers.lua).
-- "abilities_changed" says that they may have changed; many changes are one report.
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local interpreter = lazy("claude-ide.notebook.interpreter")
local log = lazy("claude-ide.base.log")
local lsp = lazy("claude-ide.base.lsp")
local native = lazy("claude-ide.library.native")
local neotest = lazy("claude-ide.neotest")
local outline = lazy("claude-ide.language.outline")
local server = lazy("claude-ide.server")
local tests = lazy("claude-ide.tools.tests")
local timers = lazy("claude-ide.base.timer")
local tools_offers = lazy("claude-ide.tools.offers")

local M = {}

local GROUP = "claude-ide.tools.availability"
local SETTLE_MS = 50
---Some servers register capabilities a moment after they have started.
local AFTERTHOUGHT_MS = 2000
---Diagnostics come and go while the user types.
local OFFERS_MS = 500
---After a CLI connects it takes this long until it handles changes of the list. Right after its first read of the list it missed 3 of
---44 changes, 200 to 300 ms after connecting (2.1.329, `ide`).
M.SETTLED_MS = 1000

---@return boolean whether an open file has a parser: a syntax tree has the range of a symbol too
local function can_parse()
  return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    return is_file and outline.has_parser(buf)
  end)
end

local function has_python()
  return interpreter.is_available()
end

---@param nearest boolean a single test
local function can_run_tests(nearest)
  return function()
    return neotest.is_there() or tests.has_command(nearest)
  end
end

---Conditions of tools that need more than a language server, by endpoint and name. Each is called often.
---@type table<"ide"|"nvim", table<string, fun(): boolean>>
local CONDITIONS = {
  ide = { executeCode = has_python },
  nvim = {
    notebook_cells = has_python,
    run_cell = has_python,
    replace_symbol_body = can_parse,
    insert_before_symbol = can_parse,
    insert_after_symbol = can_parse,
    run_test = can_run_tests(false),
    ["run_test.nearest"] = can_run_tests(true),
  },
}

---The last report, by endpoint.
---@type table<string, string>
local reported = {}

---Number of changes of each list of the CLI's; and the numbers when each client connected.
local changes = { tools = 0, resources = 0, prompts = 0 } ---@type table<string, integer>
local known = {} ---@type table<integer, table<string, integer>>

---@return boolean whether a running client supports it
local function is_served(method)
  return vim.iter(lsp.all()):any(function(client)
    if lsp.supports(client, method) then
      return true
    end
    return vim.iter(vim.tbl_keys(client.attached_buffers or {})):any(function(buf)
      return lsp.supports(client, method, buf)
    end)
  end)
end

---@return string[] methods LSP methods that tools need and a running client supports
local function served_methods()
  if not package.loaded["vim.lsp"] then
    return {} -- no server runs
  end
  return vim.tbl_filter(is_served, native.lsp_methods() or {})
end

---@param endpoint "ide"|"nvim"
local function available_on(endpoint)
  local names = endpoint == "nvim" and served_methods() or {}
  for name, condition in pairs(CONDITIONS[endpoint]) do
    local ok, is_available = pcall(condition)
    if not ok then
      log.error("whether %s can run is not known: %s", name, is_available)
    elseif is_available then
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return names
end

local function report()
  if not server.is_running() then
    return
  end
  for endpoint in pairs(CONDITIONS) do
    local names = available_on(endpoint)
    local json = vim.json.encode(names)
    if reported[endpoint] ~= json then
      local ok, err = native.set_available(endpoint, json)
      reported[endpoint] = ok and json or nil
      changes.tools = changes.tools + (endpoint == "ide" and 1 or 0)
      if err then
        log.warn("which tools are available could not be reported: %s", err)
      end
    end
  end
end

local function report_offers()
  if server.is_running() and config.get().tools.offers then
    for _, list in ipairs(tools_offers.report()) do
      changes[list] = changes[list] + 1
    end
  end
end

---Without clients there is nothing to do: each that connects gets a fresh report.
local function report_changed_offers()
  if #server.clients() + #server.agents() > 0 then
    report_offers()
  end
end

---Notifies a CLI again of changes that it may have missed.
local function tell_again(client)
  vim.defer_fn(function()
    local before = known[client.id]
    known[client.id] = nil
    for list, count in pairs(server.client(client.id) and before or {}) do
      if count ~= changes[list] then
        server.notify(("notifications/%s/list_changed"):format(list), vim.empty_dict(), client.id)
      end
    end
  end, M.SETTLED_MS)
end

---Debounces a function.
local function settled(fn, ms)
  local timer = timers.new("report changed tools")
  return function()
    timer:start(ms, fn)
  end
end

local refresh ---@type fun()?

---Resources and prompts may have changed; they are reported a moment later.
function M.offers_changed() end

---@param pattern? string
local function on(events, desc, callback, pattern)
  vim.api.nvim_create_autocmd(events --[[@as any]], {
    group = vim.api.nvim_create_augroup(GROUP, { clear = false }),
    pattern = pattern,
    desc = "Claude: " .. desc,
    callback = function()
      callback()
    end,
  })
end

---Starts tracking conditions.
function M.attach()
  reported = {}
  report_offers()
  if refresh then
    return refresh()
  end
  local look = settled(report, SETTLE_MS)
  refresh = look
  look()
  on({ "LspAttach", "LspDetach" }, "tools come and go with the language servers", function()
    look()
    vim.defer_fn(look, AFTERTHOUGHT_MS)
  end)
  on({ "FileType" }, "filetype plugins set a command for tests", look)
  on({ "OptionSet" }, "tests can be run where a command for them is set", look, "makeprg")
  local offers = settled(report_changed_offers, OFFERS_MS)
  M.offers_changed = offers
  on(
    { "BufAdd", "BufDelete", "BufFilePost", "BufWritePost", "DirChanged", "FocusGained" },
    "resources and prompts change",
    offers
  )
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    group = vim.api.nvim_create_augroup(GROUP, { clear = false }),
    desc = "Claude: update resources with the diagnostics",
    -- For a callback Neovim would convert all diagnostics.
    command = "call v:lua.require'claude-ide.tools.availability'.offers_changed()",
  })
  bus.on("abilities_changed", function()
    look()
    offers()
  end)
  bus.on("client_connected", function(client)
    report_offers()
    known[client.id] = vim.deepcopy(changes)
  end)
  bus.on("agent_ready", report_offers)
  bus.on("client_listening", tell_again)
  bus.on("client_disconnected", function(client)
    known[client.id] = nil
  end)
end

return M
