-- The Python that runs Claude's code, for the health check.
local M = {}

local PATIENCE_MS = 20000

function M.check()
  vim.health.start("Notebooks")
  if vim.list_contains(require("claude-ide.config").get().tools.hidden, "executeCode") then
    return vim.health.info("executeCode is not offered: tools.hidden names it")
  end
  local notebook = require("claude-ide.notebook")
  local found, missing
  require("claude-ide.notebook.workspace_python").look(function(interpreter, problem)
    found, missing = interpreter, problem
  end)
  vim.wait(PATIENCE_MS, function()
    return found ~= nil or missing ~= nil
  end, 10)
  if found then
    local kernel = found.kernel and (", for the kernel %s"):format(found.kernel) or ""
    vim.health.ok(("executeCode: %s (%s, Python %s)%s"):format(found.path, found.from, found.version, kernel))
  else
    local what = "executeCode is not offered: " .. (missing and missing.what or "No Python said what it has.")
    local advice = missing and missing.mend and ("Run `%s`"):format(missing.mend)
      or "Install Python and ipykernel, or say where they are: notebook.kernel"
    if require("claude-ide.config").get().notebook.kernel then
      vim.health.warn(what, { advice })
    else
      vim.health.info(("%s %s"):format(what, advice)) -- not everybody wants it
    end
  end
  for _, kernel in ipairs(notebook.list()) do
    vim.health.info(("Kernel of %s: %s %s"):format(kernel.name, kernel.state, kernel.about or ""))
  end
end

return M
