-- Display names for connected CLIs. From memory.
local lazy = require("claude-ide.lazy")
local phrases = lazy("claude-ide.sessions.phrases")
local server = lazy("claude-ide.server")
local sessions = lazy("claude-ide.sessions")

local M = {}

---@return string name
---@return string mark unique
local function of_client(id)
  local client = server.client(id)
  local live = sessions.of_client(id)
  local mark = client and client.pid and ("pid %d"):format(client.pid) or ("connection %d"):format(id)
  if live and live.name then
    return phrases.title(live), mark
  end
  local folder = live and live.cwd or client and client.roots and client.roots[1]
  if folder then
    return vim.fn.strtrans(vim.fs.basename(folder)), mark
  end
  return mark, mark
end

---The session's name, else its folder's; with the process id if ambiguous.
---@param ids integer[] clients
---@return table<integer, string>
function M.of_clients(ids)
  local names, marks, uses = {}, {}, {}
  for _, id in ipairs(ids) do
    if not names[id] then
      names[id], marks[id] = of_client(id)
      uses[names[id]] = (uses[names[id]] or 0) + 1
    end
  end
  for id, name in pairs(names) do
    if uses[name] > 1 and name ~= marks[id] then
      names[id] = ("%s (%s)"):format(name, marks[id])
    end
  end
  return names
end

return M
