-- `:Claude status`: how things stand, in one line, since a second one would make Neovim wait for a key.

local M = {}

---@param client claude-ide.Client
---@return string
local function describe(client)
  local name = client.name or "a client without a name"
  if client.version then
    name = name .. " " .. client.version
  end
  if client.state ~= "ready" then
    return name .. " (connecting)"
  end
  return client.pid and ("%s (pid %d)"):format(name, client.pid) or name
end

---@param clients claude-ide.Client[]
---@return string
function M.clients(clients)
  return table.concat(vim.tbl_map(describe, clients), ", ")
end

---@param count integer
---@param one string
---@param many string
---@return string?
local function counted(count, one, many)
  return count > 0 and ("%d %s"):format(count, count == 1 and one or many) or nil
end

---@param status claude-ide.Status
---@param short boolean
---@return string
local function line(status, short)
  local parts = {}
  local function add(part)
    parts[#parts + 1] = part
  end
  if status.running then
    add(("listening on port %d"):format(status.port))
    if #status.clients == 0 then
      add("no CLI connected")
    else
      add(short and counted(#status.clients, "CLI", "CLIs") or M.clients(status.clients))
    end
  else
    add("not connected")
  end
  add(counted(status.diffs, "edit to review", "edits to review"))
  add(counted(status.mentions, "mention waiting", "mentions waiting"))
  add("selection " .. (status.selection and "on" or "off"))
  if status.terminal.running then
    add("terminal " .. (status.terminal.visible and "open" or "hidden"))
  end
  return "Claude: " .. table.concat(parts, " · ")
end

---The line, as short as the screen needs it.
---@return string
function M.line()
  local status = require("claude-ide").status()
  local full = line(status, false)
  return vim.fn.strdisplaywidth(full) <= vim.v.echospace and full or line(status, true)
end

function M.show()
  vim.api.nvim_echo({ { M.line() } }, true, {})
end

return M
