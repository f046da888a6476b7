-- The Python of the workspace, as far as it is known: looked for when the server starts, and again while there is none.
local M = {}

---@class claude-ide.notebook.Looked
---@field found? claude-ide.notebook.Interpreter
---@field missing? claude-ide.notebook.Missing

---What is known, for each folder of the workspace and what was chosen there.
---@type table<string, claude-ide.notebook.Looked>
local looked = {}
---Who waits for a look that is under way, for the same.
---@type table<string, (fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing))[]>
local looking = {}

---The folder of the workspace.
local function folder()
  return require("claude-ide.workspace").folders()[1] or vim.fn.getcwd()
end

---What is looked for now: in this folder, what the user has chosen by now (`notebook.kernel`).
local function wanted()
  return folder() .. "\0" .. (require("claude-ide.config").get().notebook.kernel or "")
end

---Looks for the Python of the workspace: something may have been installed, or is gone.
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

---The Python of the workspace. Looks for it where none is known.
---@param done fun(found?: claude-ide.notebook.Interpreter, missing?: claude-ide.notebook.Missing)
function M.interpreter(done)
  local known = looked[wanted()]
  if known and known.found then
    done(known.found)
  else
    M.look(done)
  end
end

---Whether there is a Python to run code with, as far as it is known.
---@return boolean
function M.is_able()
  local known = looked[wanted()]
  return known ~= nil and known.found ~= nil
end

---Why there is none, as far as it is known.
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

---Looks for a Python from now on: at once, later where there was none, since one may have been installed.
function M.attach()
  if not M.is_able() then
    M.look()
  end
  look_again_later()
end

return M
