-- Caches the workspace's Python: searched when the server starts, and again while none is known.
local M = {}

---@class claude-ide.notebook.Looked
---@field found? claude-ide.notebook.Interpreter
---@field missing? claude-ide.notebook.Missing

---Results by folder and configured kernel.
---@type table<string, claude-ide.notebook.Looked>
local looked = {}
---Callbacks of running searches, by the same key.
---@type table<string, (fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing))[]>
local looking = {}

local function folder()
  return require("claude-ide.workspace").folders()[1] or vim.fn.getcwd()
end

---Key of the current search: folder and `notebook.kernel`.
local function wanted()
  return folder() .. "\0" .. (require("claude-ide.config").get().notebook.kernel or "")
end

---Searches the workspace's Python, again if it was known: it may have been installed or removed.
---@param done? fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing)
function M.look(done)
  done = done or function() end
  local of = wanted()
  if looking[of] then
    return table.insert(looking[of], done)
  end
  looking[of] = { done }
  require("claude-ide.notebook.interpreter").find(folder(), function(found, missing)
    local waiting = looking[of] or {}
    looking[of], looked[of] = nil, { found = found, missing = missing }
    require("claude-ide.bus").emit("abilities_changed")
    for _, tell in ipairs(waiting) do
      require("claude-ide.safely").wrap("use a Python", tell)(found, missing)
    end
  end)
end

---The workspace's Python; searches it if unknown.
---@param done fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing)
function M.interpreter(done)
  local known = looked[wanted()]
  if known and known.found then
    done(known.found)
  else
    M.look(done)
  end
end

---Whether a Python is known.
---@return boolean
function M.is_able()
  local known = looked[wanted()]
  return known ~= nil and known.found ~= nil
end

---Why there is none, if known.
---@return claude-ide.notebook.Missing?
function M.missing()
  local known = looked[wanted()]
  return known and known.missing
end

local look_again_later = require("claude-ide.once")(function()
  require("claude-ide.bus").on("client_connected", function()
    if not M.is_able() then
      M.look()
    end
  end)
end)

---Searches now, and again when clients connect while there is none.
function M.attach()
  if not M.is_able() then
    M.look()
  end
  look_again_later()
end

return M
