-- Converts `vim.diagnostic` to the protocol's diagnostics, with its severities, columns and limits, and notifies clients of changes.
-- Withheld files have none.
local timers = require("claude-ide.base.timer")
local lazy = require("claude-ide.lazy")
local bus = lazy("claude-ide.base.bus")
local config = lazy("claude-ide.config")
local file = lazy("claude-ide.base.file")
local lsp = lazy("claude-ide.base.lsp")
local native = lazy("claude-ide.library.native")
local path = lazy("claude-ide.base.path")
local position = lazy("claude-ide.base.position")
local privacy = lazy("claude-ide.server.privacy")
local server = lazy("claude-ide.server")
local servers = lazy("claude-ide.language.diagnostics.servers")
local stamp = lazy("claude-ide.editor.buffer.stamp")

local M = {}

local GROUP = "claude-ide.diagnostics"

---Maximum bytes of a message. Some compilers print pages.
local MAX_MESSAGE_BYTES = 4096

---Maximum bytes read of an unloaded file to convert columns.
local MAX_READ_BYTES = 1024 * 1024

---Severities of the CLI; it drops others, such as those of the JetBrains protocol.
---@type table<integer, "Error"|"Warning"|"Info"|"Hint">
local SEVERITIES = { "Error", "Warning", "Info", "Hint" }

---@class claude-ide.Diagnostic
---@field message string
---@field severity "Error"|"Warning"|"Info"|"Hint"
---@field range { start: { line: integer, character: integer }, end: { line: integer, character: integer } } 0-based UTF-16, the end exclusive
---@field source? string
---@field code? string|integer

---Reads lines of a buffer, also of an unloaded one.
---@return fun(row: integer): string
local function line_reader(buf)
  if vim.api.nvim_buf_is_loaded(buf) then
    return function(row)
      return vim.api.nvim_buf_get_lines(buf, row, row + 1, false)[1] or ""
    end
  end
  local lines
  return function(row)
    if not lines then
      local text = file.read_start(vim.api.nvim_buf_get_name(buf), MAX_READ_BYTES)
      lines = vim.split(text or "", "\r?\n")
    end
    return lines[row + 1] or ""
  end
end

---A diagnostic's message, without quotes from withheld files.
---@param diagnostic vim.Diagnostic
---@return string
function M.message(diagnostic)
  return privacy.redact(diagnostic.message or "")
end

---@param diagnostic vim.Diagnostic
---@param read_line fun(row: integer): string
---@return claude-ide.Diagnostic
local function convert(diagnostic, read_line)
  local function at(row, col)
    return { line = row, character = position.utf16(read_line(row), col) }
  end
  local lnum, col = diagnostic.lnum, diagnostic.col
  local end_lnum = math.max(diagnostic.end_lnum or lnum, lnum)
  local end_col = diagnostic.end_col or col
  local code = diagnostic.code
  return {
    message = position.valid(position.truncate(M.message(diagnostic), MAX_MESSAGE_BYTES)),
    severity = SEVERITIES[diagnostic.severity or 1] or "Error",
    range = { start = at(lnum, col), ["end"] = at(end_lnum, end_col) },
    source = diagnostic.source and position.valid(diagnostic.source) or nil,
    code = type(code) == "number" and code or (type(code) == "string" and position.valid(code)) or nil,
  }
end

---@param left vim.Diagnostic
---@param right vim.Diagnostic
---@return boolean
function M.is_worse(left, right)
  local a, b = left.severity or 1, right.severity or 1
  if a ~= b then
    return a < b
  elseif left.lnum ~= right.lnum then
    return left.lnum < right.lnum
  end
  return left.col < right.col
end

---@param list vim.Diagnostic[]
---@param limit integer
---@return vim.Diagnostic[] worst first
local function worst(list, limit)
  local kept, bound = {}, nil ---@type vim.Diagnostic[], vim.Diagnostic?
  for _, diagnostic in ipairs(list) do
    if not bound or M.is_worse(diagnostic, bound) then
      kept[#kept + 1] = diagnostic
      if #kept == 2 * limit then -- sorting them all takes longer
        table.sort(kept, M.is_worse)
        kept = vim.list_slice(kept, 1, limit)
        bound = kept[limit]
      end
    end
  end
  table.sort(kept, M.is_worse)
  return vim.list_slice(kept, 1, limit)
end

local function may_be_told(buf)
  return privacy.verdict(buf) == "tell"
end

---The diagnostics of one buffer, worst first.
---@param buf integer
---@param each? fun(raw: vim.Diagnostic, converted: claude-ide.Diagnostic) called for each
---@return claude-ide.Diagnostic[]
function M.of_buffer(buf, each)
  if not may_be_told(buf) then
    return {}
  end
  local limit = config.get().diagnostics.max_per_file
  local read_line = line_reader(buf)
  return vim.tbl_map(function(diagnostic)
    local converted = convert(diagnostic, read_line)
    if each then
      each(diagnostic, converted)
    end
    return converted
  end, worst(vim.diagnostic.get(buf), limit))
end

---The diagnostics of all buffers; the worst ones if there are too many.
---@return table<integer, claude-ide.Diagnostic[]> by buffer
function M.of_all()
  local limits = config.get().diagnostics
  local by_buf = {}
  for _, diagnostic in ipairs(vim.diagnostic.get()) do
    local buf = diagnostic.bufnr --[[@as integer]]
    by_buf[buf] = by_buf[buf] or {}
    table.insert(by_buf[buf], diagnostic)
  end
  local all = {}
  for buf, list in pairs(by_buf) do
    if may_be_told(buf) then
      vim.list_extend(all, worst(list, limits.max_per_file))
    end
  end
  if #all > limits.max_total then
    all = worst(all, limits.max_total)
  end
  local result, readers = {}, {}
  for _, diagnostic in ipairs(all) do
    local buf = diagnostic.bufnr --[[@as integer]]
    result[buf] = result[buf] or {}
    readers[buf] = readers[buf] or line_reader(buf)
    table.insert(result[buf], convert(diagnostic, readers[buf]))
  end
  return result
end

---@type table<integer, true> buffers with changes since the last notification
local changed = {}
---The last notification of each buffer, for all clients since the latest connected.
---@type table<integer, string>
local told = {}
local timer = timers.new("tell clients of diagnostics")

---Notifies clients of changed buffers.
local function tell()
  local bufs = changed
  changed = {}
  if #server.clients() == 0 then
    return
  end
  for buf in pairs(bufs) do
    if vim.api.nvim_buf_is_valid(buf) and may_be_told(buf) then
      local message = {
        uri = path.to_uri(vim.api.nvim_buf_get_name(buf)),
        diagnostics = M.of_buffer(buf),
      }
      local hash = native.digest(vim.json.encode(message))
      if told[buf] ~= hash then
        told[buf] = hash
        server.notify("diagnostics_changed", message)
      end
    end
  end
end

---Diagnostics of a buffer have changed, or were set again.
---@param buf integer
function M.on_changed(buf)
  changed[buf] = true
  if not timer:is_active() then
    timer:start(config.get().diagnostics.debounce_ms, tell)
  end
end

---Whether changes were not reported yet.
---@return boolean
function M.is_due()
  return next(changed) ~= nil
end

local function start()
  stamp.attach()
  local group = vim.api.nvim_create_augroup(GROUP, { clear = true })
  vim.api.nvim_create_autocmd("DiagnosticChanged", {
    group = group,
    desc = "Claude: tell clients of diagnostics",
    -- For a callback Neovim would convert all diagnostics.
    command = "call v:lua.require'claude-ide.language.diagnostics'.on_changed(str2nr(expand('<abuf>')))",
  })
  vim.api.nvim_create_autocmd("LspAttach", {
    group = group,
    desc = "Claude: note which language servers have diagnostics",
    callback = function(event)
      local client = vim.lsp.get_client_by_id(event.data.client_id)
      if client then
        servers.listen(client, event.buf)
      end
    end,
  })
  vim.api.nvim_create_autocmd("LspProgress", {
    group = group,
    desc = "Claude: note which language servers are at work",
    callback = function(event)
      servers.progress(event.data.client_id, event.data.params)
    end,
  })
  vim.api.nvim_create_autocmd({ "BufUnload", "LspDetach" }, {
    group = group,
    desc = "Claude: forget the diagnostics of a deleted buffer",
    callback = function(event)
      servers.forget_buffer(event.buf)
      told[event.buf] = nil
    end,
  })
  for _, client in ipairs(lsp.all()) do
    servers.listen(client)
  end
end

local function stop()
  vim.api.nvim_create_augroup(GROUP, { clear = true })
  stamp.detach()
  changed, told = {}, {}
  timer:stop()
end

---Follows the server's state. Idempotent.
M.attach = require("claude-ide.base.once")(function()
  bus.on("server_started", start)
  bus.on("server_stopped", stop)
  bus.on("client_ready", function()
    told = {}
  end)
  if server.is_running() then
    start()
  end
end)

return M
