-- Which tools can run now, of those that cannot always, told to the server: it lists no other. Whoever makes one able or unable
-- tells the topic "abilities_changed"; many changes at a time are told once.
local M = {}

local GROUP = "claude-ide.tools.able"
local SETTLE_MS = 50
---Some servers say what they can do only a moment after they have started.
local AFTERTHOUGHT_MS = 2000
local RESOURCES_MS = 500
---After a CLI listens to all else, so long until it is sure to hear of another list. Between its first look at the list and that it
---missed 3 changes of 44 that came 200 to 300 ms after it had connected (2.1.329, `ide`).
M.SETTLED_MS = 1000

---@alias claude-ide.tools.Able fun(): boolean

---Those that need something else, by endpoint and name.
---@type table<"ide"|"nvim", table<string, claude-ide.tools.Able>>
local checks = { ide = {}, nvim = {} }

---What the server was told last.
---@type table<string, string>
local told = {}

---How often the tools for CLIs have changed; and what that was when each came, by client id.
local changes, known = 0, {} ---@type integer, table<integer, integer>

---@type uv.uv_timer_t?
local timer

---Declares what decides whether a tool can run.
---@param endpoint "ide"|"nvim"
---@param name string
---@param able claude-ide.tools.Able cheap: it is called often
function M.declare(endpoint, name, able)
  checks[endpoint][name] = able
end

---@return boolean whether the editor can parse a file that is open
local function can_parse()
  return vim.iter(vim.api.nvim_list_bufs()):any(function(buf)
    local is_file = vim.api.nvim_buf_is_loaded(buf) and vim.bo[buf].buftype == ""
    return is_file and require("claude-ide.language.outline").has_parser(buf)
  end)
end

---@return boolean whether some client that runs can do it
local function is_served(method)
  local lsp = require("claude-ide.lsp")
  return vim.iter(vim.lsp.get_clients()):any(function(client)
    if lsp.supports(client, method) then
      return true
    end
    return vim.iter(vim.tbl_keys(client.attached_buffers or {})):any(function(buf)
      return lsp.supports(client, method, buf)
    end)
  end)
end

---@return string[] methods those of LSP that tools need and a client that runs can do
local function served_methods()
  if not package.loaded["vim.lsp"] then
    return {} -- no server runs
  end
  return vim.tbl_filter(is_served, require("claude-ide.native").lsp_methods() or {})
end

---@param endpoint "ide"|"nvim"
local function able_of(endpoint)
  local able = endpoint == "nvim" and served_methods() or {}
  for name, check in pairs(checks[endpoint]) do
    local ok, is_able = pcall(check)
    if not ok then
      require("claude-ide.log").error("whether %s can run is not known: %s", name, is_able)
    elseif is_able then
      able[#able + 1] = name
    end
  end
  table.sort(able)
  return able
end

local function tell()
  if not require("claude-ide.server").is_running() then
    return
  end
  for _, endpoint in ipairs({ "ide", "nvim" }) do
    local able = able_of(endpoint)
    local json = #able > 0 and vim.json.encode(able) or "[]"
    if told[endpoint] ~= json then
      local ok, err = require("claude-ide.native").set_able(endpoint, json)
      told[endpoint] = ok and json or nil
      changes = changes + (endpoint == "ide" and 1 or 0)
      if err then
        require("claude-ide.log").warn("which tools can run could not be told: %s", err)
      end
    end
  end
end

---Tells the server soon, should anything have changed.
---@param ms? integer
function M.refresh(ms)
  timer = timer or assert(vim.uv.new_timer())
  timer:start(ms or SETTLE_MS, 0, vim.schedule_wrap(tell))
end

---@type uv.uv_timer_t?
local resources_timer

---Tells agents soon that there are other resources: files were opened or closed.
function M.resources_changed()
  local server = require("claude-ide.server")
  if #server.agents() == 0 then
    return
  end
  resources_timer = resources_timer or assert(vim.uv.new_timer())
  resources_timer:start(
    RESOURCES_MS,
    0,
    vim.schedule_wrap(function()
      if server.is_running() then
        require("claude-ide.native").resources_changed()
      end
    end)
  )
end

---Tells a CLI again what changed before it was sure to hear of it.
---@param client claude-ide.Client
local function tell_again(client)
  vim.defer_fn(function()
    local before = known[client.id]
    known[client.id] = nil
    if before ~= changes and require("claude-ide.server").client(client.id) then
      local method = "notifications/tools/list_changed"
      require("claude-ide.server").notify(method, vim.empty_dict(), client.id)
    end
  end, M.SETTLED_MS)
end

local attached = false

---Follows what tools need from now on.
function M.attach()
  told = {}
  M.refresh()
  if attached then
    return
  end
  attached = true
  -- A syntax tree tells from where to where a symbol goes, too.
  for _, name in ipairs({ "replace_symbol_body", "insert_before_symbol", "insert_after_symbol" }) do
    M.declare("nvim", name, can_parse)
  end
  vim.api.nvim_create_autocmd({ "LspAttach", "LspDetach" }, {
    group = vim.api.nvim_create_augroup(GROUP, { clear = true }),
    desc = "Claude: tools come and go with the language servers",
    callback = function()
      M.refresh()
      vim.defer_fn(function()
        M.refresh()
      end, AFTERTHOUGHT_MS)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufAdd", "BufDelete", "BufFilePost" }, {
    group = GROUP,
    desc = "Claude: agents hear of other resources",
    callback = function()
      M.resources_changed()
    end,
  })
  local hub = require("claude-ide.hub")
  hub.on("abilities_changed", function()
    M.refresh()
  end)
  hub.on("client_connected", function(client)
    known[client.id] = changes
  end)
  hub.on("client_listening", tell_again)
  hub.on("client_disconnected", function(client)
    known[client.id] = nil
  end)
end

return M
