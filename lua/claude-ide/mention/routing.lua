-- Which of several connected clients a mention is for: the one that works in the innermost folder that holds the file,
-- else the one that was used last. What stays open is for the user to say.
local M = {}

---The clients that take mentions, now or in a moment, in the order they came.
---@return claude-ide.Client[]
function M.ready()
  return vim.tbl_filter(function(client)
    return client.state == "ready"
  end, require("claude-ide.server").clients())
end

---How deep the client's folder that holds a path lies; 0 where none does.
---@param path string absolute
local function nearness(client, path)
  local paths = require("claude-ide.path")
  local real, longest = paths.real(path), 0
  for _, root in ipairs(client.roots or {}) do
    if paths.within(path, root) or paths.within(real, paths.real(root)) then
      longest = math.max(longest, #paths.real(root))
    end
  end
  return longest
end

---@return claude-ide.Client[] nearest
---@return integer nearness
local function nearest(clients, path)
  local found, longest = {}, 0
  for _, client in ipairs(clients) do
    local near = nearness(client, path)
    if near > longest then
      found, longest = { client }, near
    elseif near == longest then
      found[#found + 1] = client
    end
  end
  return found, longest
end

---@param id? integer
---@return claude-ide.Client?
local function with_id(clients, id)
  return id and vim.iter(clients):find(function(client)
    return client.id == id
  end)
end

---The clients that a mention may go to: none, the one, or several that are equally right.
---@param path string absolute
---@param chosen table<string, integer> what the user has chosen before, by key
---@return claude-ide.Client[]
---@return string key says between whom the choice is
function M.candidates(path, chosen)
  local clients, near = nearest(M.ready(), path)
  local ids = vim.tbl_map(function(client)
    return client.id
  end, clients)
  local key = table.concat(ids, ",")
  local choice = with_id(clients, chosen[key])
  if #clients > 1 and near == 0 and not choice then
    local last = require("claude-ide.server").last_client()
    choice = with_id(clients, last and last.id)
  end
  return choice and { choice } or clients, key
end

---A path as the client names it: below its own folder where that is a matter of symbolic links.
---@param path string absolute
---@param client claude-ide.Client
---@return string
function M.path_for(path, client)
  local paths = require("claude-ide.path")
  local real = paths.real(path)
  for _, root in ipairs(client.roots or {}) do
    if not paths.within(path, root) and paths.within(real, root) then
      return real
    end
  end
  return path
end

---@param client claude-ide.Client
---@return string
function M.label(client)
  local folder = client.roots and client.roots[1] and vim.fn.fnamemodify(client.roots[1], ":~")
  local pid = client.pid and ("pid %d"):format(client.pid) or ("connection %d"):format(client.id)
  return ("%s in %s (%s)"):format(client.name or "Claude", folder or "an unknown folder", pid)
end

return M
