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
  local facts = {}
  facts[1] = client.pid and ("pid %d"):format(client.pid)
  for _, session in ipairs(require("claude-ide").status().sessions) do
    if session.pid == client.pid then
      facts[#facts + 1] = require("claude-ide.sessions.phrases").activity(session.state)
    end
  end
  return #facts > 0 and ("%s (%s)"):format(name, table.concat(facts, ", ")) or name
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

---Where the server listens and who is connected.
---@param info claude-ide.server.Info
---@return string
function M.connection(info)
  local clients = require("claude-ide.server").clients()
  local where = ("Port %d"):format(info.port)
  local lock = info.lock_files[1] and ", lock " .. vim.fn.fnamemodify(info.lock_files[1], ":~") or ""
  local who = #clients == 0 and "no CLI connected yet" or "connected: " .. M.clients(clients)
  local count = #clients == 0 and who or counted(#clients, "CLI connected", "CLIs connected")
  return require("claude-ide.ui.one_line").fitting({
    where .. lock .. ", " .. who,
    where .. ", " .. who,
    where .. ", " .. count,
  })
end

---@return string where the terminal is, when it is not in sight
local function whereabouts()
  local buf = require("claude-ide.terminal").bufnr()
  return buf and #vim.fn.win_findbuf(buf) > 0 and "in another tab page" or "hidden"
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
    add((short and "port %d" or "listening on port %d"):format(status.port))
    if #status.clients == 0 then
      add("no CLI connected")
    else
      add(short and counted(#status.clients, "CLI", "CLIs") or M.clients(status.clients))
    end
  else
    add("not connected")
  end
  add(counted(status.diffs, "edit to review", "edits to review"))
  add(counted(status.review.files, "changed file not reviewed", "changed files not reviewed"))
  add(counted(status.mentions, "mention waiting", "mentions waiting"))
  add("selection " .. (status.selection and "on" or "off"))
  if status.terminal.running then
    add("terminal " .. (status.terminal.visible and "open" or whereabouts()))
  end
  return "Claude: " .. table.concat(parts, " · ")
end

---The line, as short as the screen needs it.
---@return string
function M.line()
  local status = require("claude-ide").status()
  return require("claude-ide.ui.one_line").fitting({ line(status, false), line(status, true) })
end

function M.show()
  vim.api.nvim_echo({ { M.line() } }, true, {})
end

return M
